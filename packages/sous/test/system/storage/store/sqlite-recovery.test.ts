/** A database whose writer died, or still writes: it is opened with all that was stored in it, and never called damaged. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { orUndefined, UserError } from "../../../../src/core/errors.ts";
import { inspectDatabase } from "../../../../src/storage/store/sqlite/inspect.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { type SampleTree, sampleTree } from "../../../../src/testing/sample-tree.ts";
import {
  cutCheckpoint,
  isCut,
  journalNaming,
  journalOfCreation,
} from "../../../support/storage/store/cut-checkpoint.ts";
import { type SqlitePlace, sqlitePlace } from "../../../support/storage/store/sqlite-place.ts";
import { runScript } from "./run-node.ts";

suite("R17, G3: a checkpoint that was cut off after any of its pages", () => {
  test("a checkpoint that was cut off leaves a database that has every event, to write, to look at and to examine", async () => {
    await using origin = sqlitePlace();
    const tree = await fillLog(origin);
    let cuts = 0;
    for (let pages = 0, all = 1; pages <= all; pages++) {
      for (const open of ["write", "read", "inspect"] as const) {
        await using place = await copyOf(origin);
        all = cutCheckpoint(place.file, pages);
        cuts += isCut(readFileSync(place.file)) ? 1 : 0;
        if (open === "inspect") {
          assert.deepEqual(withoutSize(inspectDatabase(place.file)), HEALTHY, `${pages} pages`);
          continue;
        }
        const store = await place.open({ readOnly: open === "read" });
        assert.deepEqual(plain(await store.read("lead")), plain(tree.events), `${pages} pages, ${open}`);
        await store[Symbol.asyncDispose]();
        assert.deepEqual(place.query("PRAGMA integrity_check"), [{ integrity_check: "ok" }]);
      }
    }
    // A sweep that made no such file would show nothing.
    assert.ok(cuts > 3, `${cuts} were cut`);
  });

  test("a checkpoint that was cut off is not a fault of a file that may not be written", async () => {
    await using origin = sqlitePlace();
    const tree = await fillLog(origin);
    await using place = await copyOf(origin);
    copyFileSync(`${origin.file}-shm`, `${place.file}-shm`);
    cutCheckpoint(place.file, 1);
    assert.ok(isCut(readFileSync(place.file)));
    for (const name of readdirSync(place.folder)) chmodSync(join(place.folder, name), 0o444);
    chmodSync(place.folder, 0o555);
    const script =
      "const store = await openSqliteStore(file, { readOnly: true }); console.log((await store.read('lead')).length);";
    assert.equal(await runScript(place.file, script, { isNobody: true }), `${tree.events.length}\n`);
    chmodSync(place.folder, 0o700);
  });
});

suite("R17, G3: a file that was cut off while it was made", () => {
  test("a file that was cut off while it was made is begun again, wherever it was cut off", async () => {
    await using origin = sqlitePlace();
    await (await origin.open())[Symbol.asyncDispose]();
    const whole = readFileSync(origin.file);
    const sizes = [1, 99, 100, 512, 4096, 4097, 8192, whole.length - 4096, whole.length];
    for (const bytes of [...sizes.map((size) => whole.subarray(0, size)), Buffer.alloc(4096), Buffer.alloc(0)]) {
      for (const readOnly of [false, true]) {
        await using place = sqlitePlace();
        writeFileSync(place.file, bytes);
        writeFileSync(`${place.file}-journal`, journalOfCreation());
        const store = await place.open({ readOnly });
        assert.deepEqual(await store.list(), [], `${bytes.length} bytes`);
        await store[Symbol.asyncDispose]();
        assert.deepEqual(place.query("PRAGMA integrity_check"), [{ integrity_check: "ok" }]);
        assert.equal(existsSync(`${place.file}-journal`), false);
      }
    }
  });

  test("a file that was cut off is told of in one sentence by one who may not undo it", async () => {
    await using place = sqlitePlace();
    await (await place.open())[Symbol.asyncDispose]();
    writeFileSync(`${place.file}-journal`, journalOfCreation());
    chmodSync(place.file, 0o444);
    chmodSync(`${place.file}-journal`, 0o444);
    chmodSync(place.folder, 0o555);
    const script = "await openSqliteStore(file, { readOnly: true }).catch((error) => console.log(String(error)));";
    assert.match(
      await runScript(place.file, script, { isNobody: true }),
      /^StoreError: \S+runs\.db cannot be written \([^\n]+\): make it and its folder writable\n$/,
    );
    chmodSync(place.folder, 0o700);
  });

  test("a file is not taken for one that was cut off when its journal is that of nothing, or it is the file of another program", async () => {
    for (const [bytes, journal] of [
      [Buffer.alloc(8192), "no journal"],
      [Buffer.from("x".repeat(5000)), "no journal"],
    ] as const) {
      await using place = sqlitePlace();
      writeFileSync(place.file, bytes);
      writeFileSync(`${place.file}-journal`, journal);
      const before = place.image();
      const message = `${place.file} is not a database of sous: give another file with --db-path`;
      for (const readOnly of [false, true]) await assert.rejects(place.open({ readOnly }), new UserError(message));
      assert.deepEqual(place.image(), before);
    }
  });
});

test("B8.1: a named pipe in place of a journal is refused, and not waited for", async () => {
  await using place = sqlitePlace();
  await (await place.open())[Symbol.asyncDispose]();
  execFileSync("mkfifo", [`${place.file}-journal`]);
  const message = `${place.file}-journal is a named pipe and not a database: give another file with --db-path`;
  for (const readOnly of [true, false]) await assert.rejects(place.open({ readOnly }), new UserError(message));
});

test("B8.2: a journal that names another file is refused, because the SQLite of Node 22 deletes what it names", async () => {
  await using place = sqlitePlace();
  await (await place.open())[Symbol.asyncDispose]();
  const victim = join(place.folder, "victim");
  writeFileSync(victim, "precious");
  writeFileSync(`${place.file}-journal`, journalNaming(victim));
  const before = place.image();
  const message = `${place.file}-journal names another file, as sous never does: move it away, or give another --db-path`;
  for (const readOnly of [false, true]) await assert.rejects(place.open({ readOnly }), new UserError(message));
  assert.throws(() => inspectDatabase(place.file), new UserError(message));
  assert.deepEqual(place.image(), before);
});

test("a store that is open keeps its locks when the same process opens its file again, so that no other takes its log away", async () => {
  await using place = sqlitePlace();
  const store = await place.open();
  const tree = sampleTree("lead");
  store.append("lead", [tree.start("lead")]);
  const before = locksOfThisProcess();
  for (const readOnly of [true, false]) await (await openSqliteStore(place.file, { readOnly }))[Symbol.asyncDispose]();
  inspectDatabase(place.file);
  assert.deepEqual(locksOfThisProcess(), before);
  assert.ok(before.length > 0);
});

/** Read per open file, because `/proc/locks` repeats and skips lines while other processes lock and unlock. */
function locksOfThisProcess(): string[] {
  return readdirSync("/proc/self/fdinfo").flatMap((descriptor) => {
    // The folder that is being listed is among the open files, and is closed by now.
    const facts = orUndefined(() => readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8")) ?? "";
    return facts.split("\n").filter((line) => line.startsWith("lock:"));
  });
}

const HEALTHY = {
  version: 7,
  runs: 1,
  damage: undefined,
  damagedRuns: [],
  damagedLines: 0,
  isChecked: true,
};

function withoutSize(facts: ReturnType<typeof inspectDatabase>): unknown {
  const { bytes: _, ...rest } = facts ?? { bytes: 0 };
  return rest;
}

/** A tree of several pages that are in the log and not yet in the file. */
async function fillLog(place: SqlitePlace): Promise<SampleTree> {
  const store = await place.open();
  const tree = sampleTree("lead");
  tree.start("lead");
  for (let turn = 0; turn < 12; turn++) tree.turn("lead", `${turn}`.padEnd(2_000, "x"));
  tree.end("lead");
  store.append("lead", tree.events);
  return tree;
}

/** The file and its log, as a process that is killed leaves them. */
async function copyOf(origin: SqlitePlace): Promise<SqlitePlace> {
  const place = sqlitePlace();
  for (const end of ["", "-wal"]) copyFileSync(origin.file + end, place.file + end);
  rmSync(`${place.file}-shm`, { force: true });
  return place;
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
