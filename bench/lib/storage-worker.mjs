/**
 * W7 in a process of its own: `node storage-worker.mjs <settings>`. The store of sous appends events of 1 KB; bare
 * `node:sqlite` inserts the rows that come of them, byte for byte: once as text that is ready, once as text that it has to
 * make of an object. They take turns, on the same disk, with the same batches.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore } from "../../packages/sous/dist/sqlite.js";
import { BATCH_SIZES, PLAIN_SQLITE, SQLITE_AND_JSON, STORE } from "./pairs.mjs";
import { rotated } from "./rounds.mjs";
import { answerOf, callOf, identityOf, proseOf, resultOf, startOf, toolCallOf } from "./sample-runs.mjs";

const { storageRounds, storageRows } = JSON.parse(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), "bench-storage-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const ROOT = identityOf("01K2F8Q6ZV0000000000000001", "lead");
const BODIES = [
  answerOf(ROOT, 1, proseOf(610), [toolCallOf("call_1", { i: 7 })]),
  callOf(ROOT, "call_1", { path: "notes.md", text: proseOf(830) }),
  resultOf(ROOT, "call_1", proseOf(860)),
];

const rows = await readRows();
const measured = [];
for (const size of BATCH_SIZES) measured.push(...(await measureBatches(size)));
process.stdout.write(`\nFIGURES ${JSON.stringify(measured)}\n`, () => process.exit(0));

/** What the store makes of each body. */
async function readRows() {
  const ours = await openOurs(join(folder, "rows.db"));
  ours.append(ours.next(BODIES.length));
  const rows = ours.kept("SELECT run, type, json FROM events ORDER BY key LIMIT -1 OFFSET 1");
  await ours.close();
  for (const { json } of rows)
    if (json.length < 900 || json.length > 1100) throw new Error(`A row has ${json.length} bytes, which is not 1 KB`);
  return rows.map((row) => ({ ...row, body: JSON.parse(row.json) }));
}

/** Rows per second of every side, in turns. */
async function measureBatches(size) {
  const sides = [
    await openOurs(join(folder, `${size}-ours.db`)),
    openTheirs(join(folder, `${size}-text.db`), size, PLAIN_SQLITE, ({ json }) => json),
    openTheirs(join(folder, `${size}-json.db`), size, SQLITE_AND_JSON, ({ body }) => JSON.stringify(body)),
  ];
  const figure = `storedBy${size}`;
  const measured = [];
  // Round 0 only warms up.
  for (let round = 0; round <= storageRounds; round++) {
    for (const side of rotated(sides, round)) {
      const batches = Array.from({ length: Math.ceil(storageRows / size) }, () => side.next(size));
      const started = performance.now();
      for (const batch of batches) side.append(batch);
      const seconds = (performance.now() - started) / 1000;
      const figures = { [figure]: (batches.length * size) / seconds };
      if (round > 0) measured.push({ column: side.name, round, figures });
    }
  }
  for (const side of sides) {
    const [{ count }] = side.kept("SELECT count(*) AS count FROM events");
    if (count !== side.appended()) throw new Error(`${side.name} kept ${count} rows of ${side.appended()}`);
    await side.close();
    for (const end of ["", "-wal", "-shm"]) rmSync(`${side.file}${end}`, { force: true });
  }
  return measured;
}

async function openOurs(file) {
  const store = await openSqliteStore(file);
  let seq = 1;
  store.append(ROOT.runId, [{ seq, time: 1794730716622, ...startOf(ROOT, "go") }]);
  return {
    name: STORE,
    file,
    appended: () => seq,
    next: (size) =>
      Array.from({ length: size }, () => {
        const body = BODIES[(seq - 1) % BODIES.length];
        seq += 1;
        return { seq, time: 1794730716622, ...body };
      }),
    append: (batch) => store.append(ROOT.runId, batch),
    kept: (sql) => readAll(file, sql),
    close: () => store[Symbol.asyncDispose](),
  };
}

function openTheirs(file, size, name, toText) {
  const database = new DatabaseSync(file);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE events (key INTEGER PRIMARY KEY, run INTEGER NOT NULL, type TEXT NOT NULL, json TEXT NOT NULL);
  `);
  const begin = database.prepare("BEGIN IMMEDIATE");
  const insert = database.prepare("INSERT INTO events VALUES (?, ?, ?, ?)");
  const commit = database.prepare("COMMIT");
  let key = 0;
  return {
    name,
    file,
    appended: () => key,
    next: (size) => Array.from({ length: size }, () => ({ key: ++key, ...rows[key % rows.length] })),
    append(batch) {
      // A statement alone is a transaction of its own.
      if (size > 1) begin.run();
      for (const row of batch) insert.run(row.key, row.run, row.type, toText(row));
      if (size > 1) commit.run();
    },
    kept: (sql) => readAll(file, sql),
    close: () => database.close(),
  };
}

function readAll(file, sql) {
  const database = new DatabaseSync(file, { readOnly: true });
  const found = database.prepare(sql).all();
  database.close();
  return found;
}
