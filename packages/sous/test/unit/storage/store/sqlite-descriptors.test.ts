/** Whatever is looked at in a database, and however that ends: no file of it stays open behind it. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { LostMarks, marksIn } from "../../../../src/storage/store/lost-marks.ts";
import { loadSqlite } from "../../../../src/storage/store/sqlite/connection.ts";
import { inspectDatabase } from "../../../../src/storage/store/sqlite/inspect.ts";
import { checkIsOurs, hasJournal } from "../../../../src/storage/store/sqlite/schema.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { openDescriptors } from "../../../support/open-descriptors.ts";
import { type SqlitePlace, sqlitePlace } from "../../../support/storage/store/sqlite-place.ts";

/** Makes a database with a tree in it, closes it, and checks that this leaves what was free before free again. */
async function leavesNothingOpen(work: (place: SqlitePlace) => unknown): Promise<void> {
  await using place = sqlitePlace();
  const store = await place.open();
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.end("lead");
  await store.append("lead", tree.events);
  await store[Symbol.asyncDispose]();
  const before = openDescriptors();
  await work(place);
  assert.equal(openDescriptors(), before);
}

suite("no file of a database stays open", () => {
  test("no file of a database stays open after its store, also of one that was only read", async () => {
    await leavesNothingOpen(async ({ file }) => {
      for (const readOnly of [false, true]) {
        await using store = await openSqliteStore(file, { readOnly });
        assert.equal((await store.read("lead")).length, 2);
      }
    });
  });

  test("no file of a database stays open after a look at it", async () => {
    await leavesNothingOpen(({ file }) => {
      assert.equal(inspectDatabase(file)?.damage, undefined);
      checkIsOurs(file);
    });
  });

  test("no file of a database stays open after a look at what is no database, or at a cut one", async () => {
    await leavesNothingOpen(async ({ folder }) => {
      const other = join(folder, "notes.db");
      writeFileSync(other, "Dear diary.".repeat(1000));
      assert.throws(() => checkIsOurs(other));
      writeFileSync(`${other}-journal`, "Dear diary.".repeat(1000));
      assert.equal(hasJournal(other), false);
      await assert.rejects(openSqliteStore(other));
    });
  });

  test("no file of a database stays open after a copy of it, also of one with lost trees", async () => {
    await leavesNothingOpen(async ({ file, folder }) => {
      const lostFolder = join(folder, "lost");
      const marks = new LostMarks(marksIn(lostFolder, file));
      assert.equal(marks.add("gone", "The disk was full."), true);
      await using store = await openSqliteStore(file, { lostFolder });
      await store.backup(join(folder, "copy.db"));
      assert.equal(marks.reasonFor("gone"), "The disk was full.");
      await assert.rejects(store.backup(join(folder, "copy.db")), /exists already/);
    });
  });
});

test("after SQLite is loaded warnings come as before", () => {
  const { emitWarning } = process;
  loadSqlite();
  assert.equal(process.emitWarning, emitWarning);
});
