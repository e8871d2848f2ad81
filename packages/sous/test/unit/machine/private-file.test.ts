/** Files that processes change in turn: a lock whose process died is broken, whatever that process was doing. */

import assert from "node:assert/strict";
import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { changeLocked, replaceFile } from "../../../src/machine/private-file.ts";
import { temporaryTree } from "../../support/app/tools/temporary-tree.ts";

const LONG_AGO = new Date(Date.now() - 3_600_000);

for (const left of [["notes.lock"], ["notes.lock", "notes.lock.stale"], ["notes.lock.stale"]])
  test(`a file is changed although a process has died and left ${left.join(" and ")}`, async () => {
    await using tree = await temporaryTree({ notes: "old" });
    for (const name of left) {
      await writeFile(join(tree.path, name), "");
      await utimes(join(tree.path, name), LONG_AGO, LONG_AGO);
    }
    const file = join(tree.path, "notes");
    await changeLocked(file, () => replaceFile(file, "new"));
    assert.equal(await readFile(file, "utf8"), "new");
    // Nobody waits for a mark of the breaking of a lock that is free.
    const stays = left.includes("notes.lock") ? [] : left;
    assert.deepEqual((await readdir(tree.path)).sort(), ["notes", ...stays]);
  });

test("a file is changed by one after another, also when one of the changes fails", async () => {
  await using tree = await temporaryTree({ notes: "" });
  const file = join(tree.path, "notes");
  const changes = Array.from({ length: 5 }, (_, index) =>
    changeLocked(file, async () => {
      const text = await readFile(file, "utf8");
      if (index === 2) throw new Error("broken");
      await replaceFile(file, `${text}${index}`);
    }),
  );
  const ended = await Promise.allSettled(changes);
  assert.deepEqual(
    ended.map(({ status }) => status),
    ["fulfilled", "fulfilled", "rejected", "fulfilled", "fulfilled"],
  );
  assert.deepEqual([...(await readFile(file, "utf8"))].sort(), ["0", "1", "3", "4"]);
  assert.deepEqual(await readdir(tree.path), ["notes"]);
});
