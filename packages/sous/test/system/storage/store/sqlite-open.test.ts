/** Opening a SQLite store: what may be at its place, what is made there, and that everything else stays as it was. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { suite, test } from "node:test";
import { StoreError, UserError } from "../../../../src/core/errors.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { rootFolder } from "../../../support/source-files.ts";
import { type SqlitePlace, sqlitePlace } from "../../../support/storage/store/sqlite-place.ts";
import { runScript } from "./run-node.ts";

suite("a new SQLite store", () => {
  test("a new store is private: its folders, its file and the files beside it, whatever the mask of the process", async () => {
    await using place = sqlitePlace();
    const inner = join(place.folder, "one/two");
    const before = process.umask(0);
    try {
      await using store = await openSqliteStore(join(inner, "runs.db"));
      store.append("lead", [sampleTree("lead").start("lead")]);
      const modes = readdirSync(inner).map((name) => [name, modeOf(join(inner, name))]);
      assert.deepEqual(Object.fromEntries(modes), { "runs.db": 0o600, "runs.db-shm": 0o600, "runs.db-wal": 0o600 });
      for (const folder of ["one", "one/two"]) assert.equal(modeOf(join(place.folder, folder)), 0o700);
    } finally {
      process.umask(before);
    }
  });

  test("a new store leaves one file when it is closed, and then says so", async () => {
    await using place = sqlitePlace();
    const store = await place.open();
    store.append("lead", [sampleTree("lead").start("lead")]);
    await store[Symbol.asyncDispose]();
    assert.deepEqual(readdirSync(place.folder), ["runs.db"]);
    const closed = new StoreError(`The store at ${place.file} is closed`);
    assert.throws(() => store.append("lead", [sampleTree("lead").start("lead")]), closed);
    await assert.rejects(store.list(), closed);
    await assert.rejects(store.backup(`${place.file}.copy`), closed);
    await store[Symbol.asyncDispose]();
  });

  test("a new store takes the place of an empty file, and makes it private", async () => {
    await using place = sqlitePlace();
    writeFileSync(place.file, "", { mode: 0o644 });
    await place.open();
    assert.equal(modeOf(place.file), 0o600);
    assert.deepEqual(place.query("SELECT id FROM runs"), []);
  });

  test("a new store is made once when many open it at the same moment", async () => {
    await using place = sqlitePlace();
    const script = "await using store = await openSqliteStore(file); console.log(await store.list());";
    const printed = await Promise.all(Array.from({ length: 3 }, () => runScript(place.file, script)));
    assert.deepEqual(printed, Array(3).fill("[]\n"));
    assert.deepEqual(place.query("PRAGMA integrity_check"), [{ integrity_check: "ok" }]);
  });
});

suite("G3, B8.1: the files that a SQLite store refuses", () => {
  test("a SQLite store refuses a value that is not a path", async () => {
    for (const file of ["", ":memory:", "a\0b"])
      await assert.rejects(
        openSqliteStore(file),
        new UserError(`${JSON.stringify(file)} is not a path: give the path of a file`),
      );
  });

  test("a SQLite store refuses a directory, a named pipe, a socket, a device", async () => {
    await using place = sqlitePlace();
    mkdirSync(place.file);
    await refuses(place, `${place.file} is a directory and not a database: give another file with --db-path`);
    rmSync(place.file, { recursive: true, maxRetries: 5 });
    execFileSync("mkfifo", [place.file]);
    await refuses(place, `${place.file} is a named pipe and not a database: give another file with --db-path`);
    rmSync(place.file);
    const server = createServer().listen(place.file);
    await once(server, "listening");
    await refuses(place, `${place.file} is a socket and not a database: give another file with --db-path`);
    server.close();
    await assert.rejects(openSqliteStore("/dev/null"), /^UserError: \/dev\/null is a device and not a database: /);
  });

  test("a SQLite store refuses a symbolic link, to a database or to nothing, in place of any of its files", async () => {
    await using place = sqlitePlace();
    const target = join(place.folder, "target");
    for (const suffix of ["", "-wal", "-shm", "-journal"]) {
      for (const hasTarget of [true, false]) {
        if (hasTarget) await (await openSqliteStore(target))[Symbol.asyncDispose]();
        symlinkSync(target, `${place.file}${suffix}`);
        await refuses(
          place,
          `${place.file}${suffix} is a symbolic link and not a database: give another file with --db-path`,
        );
        rmSync(`${place.file}${suffix}`);
        rmSync(target, { force: true });
      }
    }
    assert.deepEqual(readdirSync(place.folder), []);
  });

  test("a SQLite store refuses a file of another program, whether or not it is one of SQLite", async () => {
    await using place = sqlitePlace();
    const message = `${place.file} is not a database of sous: give another file with --db-path`;
    for (const content of ["x", "not a database ".repeat(1_000), "SQLite format 3\0", Buffer.alloc(8192)]) {
      writeFileSync(place.file, content);
      await refuses(place, message);
    }
    for (const sql of [
      "CREATE TABLE t (a)",
      "PRAGMA application_id = 7; CREATE TABLE t (a)",
      "PRAGMA application_id = 7",
    ]) {
      rmSync(place.file);
      execute(place.file, sql);
      await refuses(place, message);
    }
  });

  test("a SQLite store refuses a database of another program that is open and has a log", async () => {
    await using place = sqlitePlace();
    using database = new DatabaseSync(place.file);
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE runs (a); INSERT INTO runs VALUES (1)");
    await refuses(place, `${place.file} is not a database of sous: give another file with --db-path`);
  });

  test("a SQLite store refuses a database of a newer version", async () => {
    await using place = sqlitePlace();
    await made(place);
    execute(place.file, "PRAGMA user_version = 8");
    await refuses(
      place,
      `${place.file} was written by a newer version of sous (schema 8; this one knows 7): update sous, or give another file with --db-path`,
    );
  });

  test("a SQLite store refuses a database that is damaged", async () => {
    await using place = sqlitePlace();
    const good = await made(place);
    const damages: [what: string, bytes: Buffer][] = [
      ["its first page", Buffer.from(good).fill(0xa5, 100, 8000)],
      ["its end is missing", good.subarray(0, 9000)],
      [
        "its schema",
        Buffer.from(good.toString("latin1").replaceAll("CREATE TABLE events", "CREATE TABEL events"), "latin1"),
      ],
    ];
    for (const [what, bytes] of damages) {
      writeFileSync(place.file, bytes);
      await refuses(
        place,
        /^\S+runs\.db is damaged \([^\n]+\): restore a copy, or give another file with --db-path$/,
        what,
      );
    }
  });

  test("a SQLite store refuses a database that another program has locked, after waiting for it", async () => {
    await using place = sqlitePlace();
    await made(place);
    using database = new DatabaseSync(place.file);
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    const message = `${place.file} is locked by another program: close that program, or wait until it is done`;
    const before = place.image();
    await assert.rejects(place.open({ busyTimeoutMs: 10 }), new StoreError(message));
    assert.deepEqual(place.image(), before);
    database.exec("COMMIT");
    database.close();
    await place.open();
  });

  test("a SQLite store refuses a place where nothing can be made", async () => {
    await assert.rejects(
      openSqliteStore("/proc/sous/runs.db"),
      /^UserError: \/proc\/sous\/runs\.db cannot be created \(ENOENT[^\n]+$/,
    );
    await assert.rejects(
      openSqliteStore("/dev/null/runs.db"),
      /^UserError: \/dev\/null\/runs\.db cannot be looked at \(ENOTDIR[^\n]+$/,
    );
  });

  test("a SQLite store refuses a file or a folder that may not be written", async () => {
    await using place = sqlitePlace();
    await made(place);
    chmodSync(place.folder, 0o755);
    chmodSync(place.file, 0o444);
    const before = place.image();
    const script = "await openSqliteStore(file).catch((error) => console.log(String(error)));";
    const answer = () => runScript(place.file, script, { isNobody: true });
    assert.match(await answer(), /^UserError: \S+runs\.db cannot be used \(EACCES[^\n]+\n$/);
    assert.deepEqual(place.image(), before);
    chmodSync(place.file, 0o666);
    chmodSync(place.folder, 0o555);
    assert.match(await answer(), /^UserError: \S+ cannot be used \(EACCES[^\n]+\n$/);
    assert.deepEqual(place.image(), { "runs.db": before["runs.db"]?.replace("444", "666") });
    chmodSync(place.folder, 0o700);
  });

  test("a SQLite store refuses settings that mean nothing", async () => {
    await using place = sqlitePlace();
    const synchronous = "off" as "full";
    await assert.rejects(
      place.open({ synchronous }),
      new UserError('openSqliteStore(): synchronous must be "normal" or "full"; found "off"'),
    );
    await assert.rejects(place.open({ busyTimeoutMs: -1 }), UserError);
    assert.deepEqual(readdirSync(place.folder), []);
  });
});

suite("a SQLite store that is open", () => {
  test("an open store says that its file was deleted or replaced, because what it writes would be lost", async () => {
    await using place = sqlitePlace();
    const clock = new VirtualClock(1_000_000);
    const message = `${place.file} was deleted or replaced while it was open: what happens now cannot be stored there`;
    for (const change of [() => rmSync(place.file), () => renameSync(place.file, `${place.file}.old`)]) {
      const store = await place.open({ clock });
      const tree = sampleTree("lead");
      store.append("lead", [tree.start("lead")]);
      change();
      clock.jump(1_000);
      tree.turn("lead", "I look.");
      for (const part of [tree.events.slice(1), tree.events])
        assert.throws(() => store.append("lead", part), new StoreError(message));
      await store[Symbol.asyncDispose]();
    }
  });

  test("a store for reading says that its file was deleted or replaced, because its marks mean nothing in another", async () => {
    const change = async (place: SqlitePlace, isAtWork: boolean) => {
      const { file } = place;
      const write = async (id: string) => {
        const store = await place.open();
        store.append(id, [sampleTree(id).start(id)]);
        if (!isAtWork) await store[Symbol.asyncDispose]();
      };
      await write("lead");
      const reader = await place.open({ readOnly: true });
      const { mark } = await reader.totals();
      for (const end of ["", "-wal", "-shm"]) rmSync(file + end, { force: true });
      const message = `${file} was deleted or replaced while it was open: what is there now is read after a restart`;
      await assert.rejects(reader.totals({ after: mark }), new StoreError(message));
      await write("other");
      await assert.rejects(reader.totals({ after: mark }), new StoreError(message));
    };
    for (const isAtWork of [true, false]) {
      await using place = sqlitePlace();
      await change(place, isAtWork);
    }
  });

  test("an open store waits for others that write, and says so when they do not end", async () => {
    await using place = sqlitePlace();
    const store = await place.open({ busyTimeoutMs: 10 });
    const tree = sampleTree("lead");
    store.append("lead", [tree.start("lead")]);
    using database = new DatabaseSync(place.file);
    database.exec("BEGIN IMMEDIATE");
    tree.turn("lead", "I look.");
    const message = `${place.file} is locked by another program: close that program, or wait until it is done`;
    assert.throws(() => store.append("lead", tree.events.slice(1)), new StoreError(message));
    await assert.rejects(store.release("lead", 1), new StoreError(message));
    assert.equal((await store.read("lead")).length, 1);
    database.exec("COMMIT");
    store.append("lead", tree.events.slice(1));
    assert.equal((await store.read("lead")).length, 3);
  });

  test("an open store says that the disk is full, keeps what it had, and continues when there is room", async () => {
    await using place = sqlitePlace();
    const script = `
      await using store = await openSqliteStore(file);
      const tree = sampleTree("lead");
      tree.start("lead");
      store.append("lead", tree.events);
      const long = Array.from({ length: 50 }, (_, index) => String(index).repeat(20_000).slice(0, 20_000));
      for (const text of long) tree.turn("lead", text);
      try { store.append("lead", tree.events.slice(1)); } catch (error) { console.log(String(error)); }
      console.log((await store.read("lead")).length);
      tree.end("lead");
      store.append("lead", tree.events.slice(-1));
      console.log((await store.read("lead")).length);`;
    const wrapper = ["sh", "-c", 'trap "" XFSZ; ulimit -f 512; exec "$@"', "sh"];
    const [sentence, ...counts] = (await runScript(place.file, script, { wrapper })).split("\n");
    assert.match(sentence ?? "", /^StoreError: \S+runs\.db cannot be read or written \([^\n]+\): check its disk$/);
    assert.deepEqual(counts, ["1", "2", ""]);
    assert.deepEqual(place.query("PRAGMA integrity_check"), [{ integrity_check: "ok" }]);
  });

  test("an open store keeps what Node 22 reads badly: a character 0, and half ones; there it loads SQLite without a word, and lets other warnings pass", async () => {
    await using place = sqlitePlace();
    const script = `
      import assert from "node:assert/strict";
      const store = await openSqliteStore(file);
      const hostile = ["a\\0b", "half \\ud800", "back\\\\slash \\\\u0000", "\\0".repeat(100) + "x".repeat(70_000) + "\\ud800"];
      for (const [index, text] of hostile.entries()) {
        const id = index + text.slice(0, 20);
        const tree = sampleTree(id);
        const details = { agent: text, model: text, summaryPrompt: text, task: { role: "user", content: [{ type: "text", text }] } };
        tree.start(id, { label: text, details });
        tree.turn(id, text);
        store.append(id, tree.events);
        await store.markLost(id, text);
        assert.deepEqual(JSON.stringify(await store.read(id)), JSON.stringify(tree.events));
        const { label, agent, model, task, summaryPrompt, lost } = await store.run(id);
        assert.deepEqual({ label, agent, model, task, summaryPrompt, lost }, { label: text, agent: text, model: text, task: text, summaryPrompt: text, lost: text });
        assert.deepEqual((await store.list({ idPrefix: id })).map(({ id }) => id), [id]);
        await store.release(id, 1);
      }
      assert.equal(await store.delete("0a\\0b"), true);
      assert.equal(await store.prune(Number.MAX_SAFE_INTEGER), 3);
      console.log("kept");
      process.emitWarning("something else");`;
    for (const node of [process.execPath, node22()]) {
      const [kept, warning = "", ...more] = (await runScript(place.file, script, { node })).split("\n");
      assert.deepEqual([kept, more.filter((line) => line !== "" && !line.includes("--trace-warnings"))], ["kept", []]);
      assert.match(warning, /Warning: something else$/);
    }
  });
});

/** Opens, expects one sentence, and finds everything in the folder as it was. */
async function refuses(place: SqlitePlace, message: string | RegExp, what?: string): Promise<void> {
  const before = place.image();
  for (const readOnly of [false, true]) {
    await assert.rejects(
      openSqliteStore(place.file, { readOnly }),
      (error) => {
        assert.ok(error instanceof UserError || error instanceof StoreError, String(error));
        if (typeof message === "string") assert.equal(error.message, message, what);
        else assert.match(error.message, message, what);
        return true;
      },
      what,
    );
    assert.deepEqual(place.image(), before, what);
  }
}

/** The bytes of a database that was used and closed. */
async function made(place: SqlitePlace): Promise<Buffer> {
  await using store = await openSqliteStore(place.file);
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.end("lead");
  store.append("lead", tree.events);
  await store[Symbol.asyncDispose]();
  return readFileSync(place.file);
}

function execute(file: string, sql: string): void {
  using database = new DatabaseSync(file);
  database.exec(sql);
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

function node22(): string {
  return join(rootFolder, `packages/node-22/node_modules/node-linux-${process.arch}/bin/node`);
}
