/** The file of a SQLite store over time: looked at, copied, cleaned up, brought up to date. */

import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { UserError } from "../../../../src/core/errors.ts";
import { openSqliteStore, type SqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { type SampleTree, sampleTree } from "../../../../src/testing/sample-tree.ts";
import { OLDER_SQLITE_BUDGETS } from "../../../support/storage/store/older-budgets.ts";
import { sqlitePlace } from "../../../support/storage/store/sqlite-place.ts";
import { SQLITE_WITHOUT_PLACING } from "../../../support/storage/store/without-placing.ts";
import { runScript } from "./run-node.ts";

suite("a SQLite store that is only looked at", () => {
  test("a store that is only looked at must be there, and nothing is made in its place", async () => {
    await using place = sqlitePlace();
    for (const file of [place.file, join(place.folder, "no/folder/runs.db")]) {
      const message = `There is no database at ${file}: run an agent first, or give another file with --db-path`;
      await assert.rejects(openSqliteStore(file, { readOnly: true }), new UserError(message));
    }
    writeFileSync(place.file, "");
    await assert.rejects(place.open({ readOnly: true }), UserError);
    assert.deepEqual(readdirSync(place.folder), ["runs.db"]);
  });

  test("a store that is only looked at shows everything, changes nothing and leaves nothing behind", async () => {
    await using place = sqlitePlace();
    const tree = await fill(place.file, "lead");
    const before = place.image();
    const store = await place.open({ readOnly: true });
    assert.deepEqual(plain(await store.read("lead")), plain(tree.events));
    assert.deepEqual(ids(await store.list()), ["lead"]);
    const refusal = new UserError(`${place.file} is open for reading only: open it without readOnly`);
    assert.throws(() => store.append("other", [sampleTree("other").start("other")]), refusal);
    for (const change of [
      store.claim("lead"),
      store.release("lead", 1),
      store.markLost("lead", "no reason"),
      store.delete("lead"),
      store.prune(Number.MAX_SAFE_INTEGER),
      store.vacuum(),
    ]) {
      await assert.rejects(change, refusal);
    }
    assert.deepEqual(place.image(), before);
    await store[Symbol.asyncDispose]();
    assert.deepEqual(place.image(), before);
  });

  test("a store that is only looked at follows a writer, whichever was opened first", async () => {
    await using place = sqlitePlace();
    await fill(place.file, "first");
    const early = await place.open({ readOnly: true });
    assert.deepEqual(ids(await early.list()), ["first"]);
    const writer = await place.open();
    const tree = sampleTree("second");
    writer.append("second", [tree.start("second")]);
    const late = await place.open({ readOnly: true });
    for (const store of [early, late])
      assert.deepEqual(statuses(await store.list()), ["second running", "first completed"]);
    tree.end("second");
    writer.append("second", tree.events.slice(1));
    await writer[Symbol.asyncDispose]();
    for (const store of [early, late])
      assert.deepEqual(statuses(await store.list()), ["second completed", "first completed"]);
  });

  test("a store that is only looked at needs no right to write, neither to the file nor to its folder", async () => {
    await using place = sqlitePlace();
    await fill(place.file, "lead");
    chmodSync(place.file, 0o444);
    chmodSync(place.folder, 0o555);
    const before = place.image();
    const script =
      "const store = await openSqliteStore(file, { readOnly: true }); console.log((await store.list()).length);";
    assert.equal(await runScript(place.file, script, { isNobody: true }), "1\n");
    assert.deepEqual(place.image(), before);
    chmodSync(place.folder, 0o700);
  });
});

suite("a copy of a SQLite store", () => {
  test("a copy is whole and of one moment, also while runs continue", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    const tree = sampleTree("lead");
    tree.start("lead");
    for (let turn = 0; turn < 3_000; turn++) tree.turn("lead", `${turn}`.padEnd(2_000, "x"));
    store.append("lead", tree.events);
    const other = await place.open();
    const copy = join(place.folder, "copies/copy.db");
    let isDone = false;
    const backup = store.backup(copy).finally(() => {
      isDone = true;
    });
    // Writes from here and from elsewhere, as long as it takes.
    let more = 0;
    for (; !isDone; more++) {
      const single = sampleTree(`single${more}`);
      (more % 2 === 0 ? store : other).append(single.rootId, [single.start(single.rootId)]);
      await new Promise(setImmediate);
    }
    await backup;
    assert.ok(more > 1, "something was written meanwhile");
    assert.deepEqual(readdirSync(join(place.folder, "copies")), ["copy.db"]);
    assert.equal(statSync(copy).mode & 0o777, 0o600);
    await using copied = await openSqliteStore(copy);
    assert.deepEqual(plain(await copied.read("lead")), plain(tree.events));
    assert.deepEqual(ids(await copied.list()), ["lead"]);
    assert.equal((await store.list()).length, more + 1);
  });

  test("a copy replaces no file", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    const copy = join(place.folder, "copy.db");
    writeFileSync(copy, "precious");
    await refusesCopy(store, copy, copy);
    rmSync(copy);
    symlinkSync(join(place.folder, "elsewhere"), copy);
    await refusesCopy(store, copy, copy);
    rmSync(copy);
    writeFileSync(`${copy}-wal`, "precious");
    await refusesCopy(store, copy, `${copy}-wal`);
    assert.equal(existsSync(copy), false);
    mkdirSync(`${place.folder}/folder`);
    await refusesCopy(store, `${place.folder}/folder`, `${place.folder}/folder`);
    await refusesCopy(store, place.file, place.file);
  });

  test("a copy that fails leaves nothing", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    await assert.rejects(store.backup("/proc/sous/copy.db"), /^UserError: \/proc\/sous\/copy\.db cannot be created /);
    const tree = sampleTree("lead");
    tree.start("lead");
    for (let turn = 0; turn < 100; turn++) tree.turn("lead", `${turn}`.padEnd(20_000));
    store.append("lead", tree.events);
    await store[Symbol.asyncDispose]();
    const script = `
      const store = await openSqliteStore(file);
      await store.backup(file + ".copy").catch((error) => console.log(String(error)));
      await store[Symbol.asyncDispose]();`;
    const wrapper = ["sh", "-c", 'trap "" XFSZ; ulimit -f 512; exec "$@"', "sh"];
    assert.match(
      await runScript(place.file, script, { wrapper }),
      /^StoreError: \S+\.copy cannot be read or written [^\n]+\n$/,
    );
    assert.deepEqual(readdirSync(place.folder), ["runs.db"]);
  });
});

suite("a SQLite store from which much was deleted", () => {
  test("a vacuum gives the space back, keeps the rest, and others can continue to use it", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    const other = await place.open();
    const kept = sampleTree("kept");
    kept.start("kept");
    other.append("kept", kept.events);
    const large = sampleTree("large");
    large.start("large");
    for (let turn = 0; turn < 500; turn++) large.turn("large", "x".repeat(2_000));
    large.end("large");
    store.append("large", large.events);
    await store.delete("large");
    await store.vacuum();
    assert.ok(statSync(place.file).size < 200_000, `${statSync(place.file).size} bytes are left`);
    kept.turn("kept", "I am still here.");
    other.append("kept", kept.events.slice(1));
    assert.deepEqual(plain(await store.read("kept")), plain(kept.events));
    assert.deepEqual(place.query("PRAGMA integrity_check"), [{ integrity_check: "ok" }]);
  });
});

suite("a SQLite store of an older version", () => {
  test("a store of an older version is brought up to date with everything in it, and not by looking at it", async () => {
    await using place = sqlitePlace();
    const tree = await fill(place.file, "lead");
    const current = place.query("SELECT name, sql FROM sqlite_schema ORDER BY name");
    place.tamper(
      `${OLDER_SQLITE_BUDGETS} ${SQLITE_WITHOUT_PLACING} ALTER TABLE runs DROP COLUMN questions; DROP TABLE tallies; DROP TABLE purses; PRAGMA user_version = 1`,
    );
    const before = place.image();
    const message = `${place.file} was written by an older version of sous: open it once for writing`;
    await assert.rejects(place.open({ readOnly: true }), new UserError(message));
    assert.deepEqual(place.image(), before);
    const store = await place.open();
    assert.deepEqual(plain(await store.read("lead")), plain(tree.events));
    assert.deepEqual(place.query("SELECT name, sql FROM sqlite_schema ORDER BY name"), current);
    assert.deepEqual(place.query("PRAGMA user_version"), [{ user_version: 7 }]);
  });

  test("a store of an older version is refused when it is not what that version made", async () => {
    await using place = sqlitePlace();
    await fill(place.file, "lead");
    place.tamper(`${OLDER_SQLITE_BUDGETS} ${SQLITE_WITHOUT_PLACING} ALTER TABLE runs DROP COLUMN questions; PRAGMA user_version = 1`);
    await assert.rejects(place.open(), /^UserError: \S+ holds "tallies", which sous did not put there: /);
    place.tamper("PRAGMA user_version = 0");
    await assert.rejects(place.open(), /^UserError: \S+ holds "runs", which sous did not put there: /);
    place.tamper("PRAGMA user_version = -1");
    await assert.rejects(place.open(), /^UserError: \S+ has a version that sous never had: /);
  });
});

async function fill(file: string, rootId: string): Promise<SampleTree> {
  const tree = sampleTree(rootId);
  tree.start(rootId);
  tree.turn(rootId, "I look.");
  tree.end(rootId);
  await using store = await openSqliteStore(file);
  store.append(rootId, tree.events);
  return tree;
}

async function refusesCopy(store: SqliteStore, to: string, named: string): Promise<void> {
  await assert.rejects(store.backup(to), new UserError(`${named} exists already: give a new file for the copy`));
}

function statuses(records: readonly { id: string; status: string }[]): string[] {
  return records.map(({ id, status }) => `${id} ${status}`);
}

function ids(records: readonly { id: string }[]): string[] {
  return records.map(({ id }) => id);
}

/** As JSON keeps it: fields that are undefined are dropped. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
