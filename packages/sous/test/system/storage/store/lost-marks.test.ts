/** Marks of trees that continued without their store: made where they can be, read by everyone, and gone once the store knows. */

import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { suite, test } from "node:test";
import { StoreError, UserError } from "../../../../src/core/errors.ts";
import { marksIn as folderMarks, LostMarks } from "../../../../src/storage/store/lost-marks.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { type SqlitePlace, sqlitePlace } from "../../../support/storage/store/sqlite-place.ts";
import { runScript } from "./run-node.ts";

suite("C2: a mark", () => {
  test("a mark is made once, with its reason, for whatever id, and can be taken away", async () => {
    await using place = sqlitePlace();
    const marks = new LostMarks([{ folder: place.folder, prefix: "runs.db-lost-" }]);
    const ids = ["01J0", "a/b", "../..", "ü \0", "%", "lead"];
    for (const id of ids) assert.equal(marks.add(id, `${id} is lost`), true);
    assert.equal(marks.add("lead", "It still is"), true);
    assert.deepEqual(
      ids.map((id) => marks.reasonFor(id)),
      ids.map((id) => `${id} is lost`),
    );
    assert.deepEqual(marks.rootIds().toSorted(), ids.toSorted());
    assert.equal(marks.reasonFor("other"), undefined);
    for (const id of ids) marks.remove(id);
    assert.deepEqual(readdirSync(place.folder), []);
  });

  test("a mark is made in the next place when the first cannot be written, and nowhere when none can", async () => {
    await using place = sqlitePlace();
    const nowhere = { folder: "/proc/sous", prefix: "" };
    const there = { folder: join(place.folder, "state/lost"), prefix: "x-" };
    const marks = new LostMarks([nowhere, there]);
    assert.equal(marks.add("lead", "The disk was full"), true);
    assert.deepEqual([marks.reasonFor("lead"), marks.rootIds()], ["The disk was full", ["lead"]]);
    assert.equal(new LostMarks([nowhere]).add("lead", "The disk was full"), false);
    assert.equal(new LostMarks([]).add("lead", "The disk was full"), false);
  });

  test("a mark is known by its name alone, and a file that only looks like one is none", async () => {
    await using place = sqlitePlace();
    const marks = new LostMarks([{ folder: place.folder, prefix: "m-" }]);
    writeFileSync(join(place.folder, "m-empty"), "");
    mkdirSync(join(place.folder, "m-folder"));
    writeFileSync(join(place.folder, "secret"), "secret");
    symlinkSync("secret", join(place.folder, "m-link"));
    writeFileSync(join(place.folder, "m-%zz"), "");
    assert.deepEqual(
      ["empty", "folder", "link"].map((id) => marks.reasonFor(id)),
      ["The store failed while it ran.", undefined, undefined],
    );
    marks.remove("folder");
    assert.equal(marks.add("link", "no"), false);
    assert.equal(readFileSync(join(place.folder, "secret"), "utf8"), "secret");
  });

  test("a mark is made on a disk that is full", async () => {
    await using place = sqlitePlace();
    const script = `
      import { LostMarks } from ${JSON.stringify(import.meta.resolve("../../../../src/storage/store/lost-marks.ts"))};
      import { closeSync, openSync, writeSync } from "node:fs";
      const folder = process.env.FOLDER;
      const filler = openSync(folder + "/filler", "w");
      const bytes = Buffer.alloc(4096);
      let full = "";
      try { for (;;) writeSync(filler, bytes); } catch (error) { full = error.code; }
      closeSync(filler);
      const marks = new LostMarks([{ folder, prefix: "m-" }]);
      console.log(full, marks.add("lead", "The disk was full"), marks.reasonFor("lead"));`;
    const mount = 'mount -t tmpfs -o size=64k tmpfs "$FOLDER" && exec "$@"';
    const wrapper = ["env", `FOLDER=${place.folder}`, "unshare", "-rm", "sh", "-c", mount, "sh"];
    assert.equal(await runScript(place.file, script, { wrapper }), "ENOSPC true The store failed while it ran.\n");
  });
});

suite("C2: a SQLite store that cannot be told of a loss", () => {
  test("a store has the mark beside its file, shows it to everyone, and takes it in when it is closed or opened", async () => {
    for (const isClosedLate of [true, false]) {
      await using place = sqlitePlace();
      const store = await begun(place);
      const other = lock(place);
      await store.markLost("lead", "The disk was full");
      await store.markLost("lead", "It still is");
      assert.deepEqual(marksIn(place), ["runs.db-lost-lead"]);
      assert.equal((await store.run("lead"))?.lost, "The disk was full");
      const looking = await place.open({ readOnly: true });
      assert.deepEqual(await losses(looking), ["The disk was full", "The disk was full", "The disk was full"]);
      await looking[Symbol.asyncDispose]();
      if (!isClosedLate) await store[Symbol.asyncDispose]();
      other.close();
      assert.deepEqual(place.query("SELECT lost FROM runs"), [{ lost: null }]);
      if (isClosedLate) await store[Symbol.asyncDispose]();
      else await (await place.open())[Symbol.asyncDispose]();
      assert.deepEqual(place.query("SELECT lost FROM runs"), [{ lost: "The disk was full" }]);
      assert.deepEqual(marksIn(place), []);
    }
  });

  test("a store makes its marks in another folder when its own cannot be written, and says so when none can", async () => {
    const script = `
      import { DatabaseSync } from "node:sqlite";
      import { chmodSync } from "node:fs";
      const store = await openSqliteStore(file, { busyTimeoutMs: 0, lostFolder: process.env.LOST });
      store.append("lead", [sampleTree("lead").start("lead")]);
      new DatabaseSync(file).exec("BEGIN IMMEDIATE");
      chmodSync(process.env.FOLDER, 0o555);
      await store.markLost("lead", "The disk was full").catch((error) => console.log(error.name));
      console.log((await store.run("lead")).lost);
      process.kill(process.pid, "SIGKILL");`;
    for (const [lost, said] of [
      ["state/lost", "The disk was full\n"],
      [undefined, "StoreError\nundefined\n"],
    ] as const) {
      await using place = sqlitePlace();
      const folder = join(place.folder, "data");
      const lostFolder = lost === undefined ? "/proc/sous" : join(place.folder, lost);
      chmodSync(place.folder, 0o777);
      const wrapper = ["env", `LOST=${lostFolder}`, `FOLDER=${folder}`];
      const heard = await runScript(join(folder, "runs.db"), script, { wrapper, isNobody: true });
      assert.equal(heard.replace("exit null\n", ""), said);
      chmodSync(folder, 0o777);
      await using next = await openSqliteStore(join(folder, "runs.db"), { lostFolder });
      assert.equal((await next.run("lead"))?.lost, lost === undefined ? undefined : "The disk was full");
    }
  });

  test("a copy of a store is told of its losses, also one that is made by a store for looking", async () => {
    await using place = sqlitePlace();
    await (await begun(place))[Symbol.asyncDispose]();
    writeFileSync(`${place.file}-lost-lead`, "The disk was full");
    const looking = await place.open({ readOnly: true });
    const copy = join(place.folder, "copy.db");
    await looking.backup(copy);
    const openFiles = readdirSync("/proc/self/fd").map((each) => linkOf(`/proc/self/fd/${each}`));
    assert.deepEqual(
      openFiles.filter((path) => path.startsWith(copy)),
      [],
    );
    await using copied = await openSqliteStore(copy);
    assert.deepEqual(await losses(copied), ["The disk was full", "The disk was full", "The disk was full"]);
    assert.deepEqual(marksIn(place), ["runs.db-lost-lead"]);
  });

  test("a store finds its mark in another folder, whichever way leads to the database", async () => {
    await using place = sqlitePlace();
    await (await begun(place))[Symbol.asyncDispose]();
    const lostFolder = join(place.folder, "lost");
    const address = join(realpathSync(place.folder), "runs.db");
    assert.ok(new LostMarks(folderMarks(lostFolder, address)).add("lead", "The disk was full"));
    const link = join(place.folder, "link");
    symlinkSync(place.folder, link);
    await using store = await openSqliteStore(join(link, "runs.db"), { readOnly: true, lostFolder });
    assert.equal((await store.run("lead"))?.lost, "The disk was full");
  });

  test("a store keeps the mark of a tree that it does not have, and forgets that of one it deletes", async () => {
    await using place = sqlitePlace();
    const store = await begun(place);
    for (const id of ["lead", "stranger"]) writeFileSync(`${place.file}-lost-${id}`, "");
    await store.release("lead", 1);
    assert.equal(await store.delete("lead"), true);
    await (await place.open())[Symbol.asyncDispose]();
    assert.deepEqual(marksIn(place), ["runs.db-lost-stranger"]);
  });

  test("a store marks nothing when it is only looked at", async () => {
    await using place = sqlitePlace();
    await (await begun(place))[Symbol.asyncDispose]();
    const store = await place.open({ readOnly: true });
    await assert.rejects(store.markLost("lead", "no reason"), UserError);
    assert.deepEqual(marksIn(place), []);
  });

  test("a store takes a mark that comes after it was closed", async () => {
    await using place = sqlitePlace();
    const store = await begun(place);
    await store[Symbol.asyncDispose]();
    await store.markLost("lead", "The disk was full");
    await assert.rejects(store.list(), StoreError);
    const next = await place.open();
    assert.equal((await next.run("lead"))?.lost, "The disk was full");
  });
});

async function begun(place: SqlitePlace) {
  const store = await place.open({ busyTimeoutMs: 0 });
  store.append("lead", [sampleTree("lead").start("lead")]);
  return store;
}

function lock(place: SqlitePlace): DatabaseSync {
  const other = new DatabaseSync(place.file);
  other.exec("BEGIN IMMEDIATE");
  return other;
}

function marksIn(place: SqlitePlace): string[] {
  return readdirSync(place.folder).filter((name) => name.includes("-lost-"));
}

async function losses(store: Awaited<ReturnType<typeof openSqliteStore>>): Promise<(string | undefined)[]> {
  const records = [await store.run("lead"), ...(await store.list()), ...(await store.tree("lead"))];
  return records.map((record) => record?.lost);
}

/** Where an open file is; one of them was closed with the reading of the folder itself. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
