/** A question at a terminal: after the answer the terminal is as it was. */

import assert from "node:assert/strict";
import { PassThrough, Writable } from "node:stream";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { perform } from "../../../support/app/cli/in-process.ts";
import { keepSampleRuns } from "../../../support/app/cli/kept-runs.ts";
import { dataFolder } from "../../../support/app/cli/sous-process.ts";

test("a question about everything that is stored is read from the terminal, which nothing reads from afterwards", async () => {
  await using folder = await dataFolder();
  {
    await using store = await openSqliteStore(folder.file);
    await keepSampleRuns(store);
  }
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => {
      modes.push(isRaw);
      return stdin;
    },
  });
  let said = "";
  const output = () =>
    Object.assign(
      new Writable({
        write(chunk, _encoding, done) {
          said += chunk;
          done();
        },
      }),
      { isTTY: true, columns: 100 },
    );
  const streams = { stdin, stdout: output(), stderr: output() };
  const command = perform(["replay", "--prune", "2030-01-01"], { env: folder.env }, streams);
  while (!said.includes("[y/N]")) await nextTurn();
  stdin.write("n\r");
  assert.equal((await command.ended).code, 1);
  assert.match(said, /Nothing was deleted\./);
  assert.deepEqual([modes, stdin.isPaused()], [[true, false], true]);
});
