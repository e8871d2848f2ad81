/** A parked run on the command line, cut at every event as a kill cuts it: what was allowed is asked about again, and runs once. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { NO_OWNER } from "../../../../src/core/store.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { checkHistory } from "../../../../src/testing/checker.ts";
import { runInProcess } from "../../../support/app/cli/in-process.ts";
import { scriptFolder } from "../../../support/app/cli/run-process.ts";

const script = {
  sous: [{ calls: [{ tool: "write_file", input: { path: "one.txt", content: "done" } }] }, { text: "Written." }],
};

/** The events of a database, or a database of these events. */
async function journal(file: string, rootId: string, kept?: readonly StoredEvent[]): Promise<readonly StoredEvent[]> {
  await using store = await openSqliteStore(file);
  if (kept !== undefined) await store.append(rootId, structuredClone([...kept]), NO_OWNER);
  return store.read(rootId);
}

suite("G7: sous resume --approve, cut after any event", () => {
  test("sous resume --approve asks again about what was allowed, and runs nothing unasked and nothing twice", async () => {
    await using place = await scriptFolder({ one: script });
    const { path: cwd } = place;
    const written = join(cwd, "one.txt");
    const sous = (db: string, ...parameters: string[]) =>
      runInProcess({ cwd, parameters: [...parameters, "--db-path", join(cwd, db)] });
    const parked = await sous(
      "whole.db",
      "run",
      "Write it",
      "--quiet",
      "--json",
      "--park",
      "--model",
      "script/one.json",
    );
    const { run_id: id } = JSON.parse(parked.stdout);
    const open = (await journal(join(cwd, "whole.db"), id)).length;
    const whole = await sous("whole.db", "resume", id, "--quiet", "--approve", "all");
    assert.equal(whole.stdout, "Written.\n");
    const events = await journal(join(cwd, "whole.db"), id);
    for (let kept = 1; kept < events.length; kept++) {
      await rm(written, { force: true });
      const db = `cut-${kept}.db`;
      await journal(join(cwd, db), id, events.slice(0, kept));
      const isDone = events.slice(0, kept).some(({ type }) => type === "tool-call-end");
      const again = await sous(db, "resume", id, "--quiet", "--json", "--park");
      assert.equal(existsSync(written), false, `ran unasked after ${kept} events`);
      assert.equal(again.code, isDone ? 0 : 7, again.stderr);
      if (!isDone) {
        const last = await sous(db, "resume", id, "--quiet", "--approve", "all");
        assert.deepEqual([last.code, last.stdout], [0, "Written.\n"], last.stderr);
        assert.equal(await readFile(written, "utf8"), "done");
      }
      const all = await journal(join(cwd, db), id);
      assert.deepEqual(checkHistory(all), [], `after ${kept} events`);
      assert.equal(all.filter(({ type }) => type === "tool-call-end").length, 1);
      const rerun = await sous(db, "replay", "--rerun", "--id", id);
      assert.equal(rerun.code, 0, `after ${kept} events: ${rerun.stdout}`);
    }
    assert.ok(open > 3 && events.length > open);
  });
});
