/** The tables of a database, how older ones are migrated, and whose database a file is, told without locking it. */

import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { UserError } from "../../../core/errors.ts";
import { withAddedColumns } from "../run-columns.ts";
import { BUDGET_PARTS, DROP_OLD_BUDGETS, OLD_BUDGETS } from "./budget.ts";
import { SQLITE_KINDS } from "./column-kinds.ts";
import { loadSqlite, type SqliteConnection } from "./connection.ts";
import { faultOf, hasCode } from "./file.ts";
import { PLACING_PARTS } from "./placing-tables.ts";
import { FILL_TALLIES, TALLIES } from "./tallies.ts";

/** "sous" in the header of the file, so that a file of another program is recognised. */
const APPLICATION_ID = 0x736f7573;

/** Trees of a database: with the number of an event they share the 63 bits of a key. */
export const LAST_TREE: number = 2 ** 35 - 1;

/** Nothing larger is stored as one value, and nothing larger is read from a file of unknown origin. */
export const MAX_VALUE_BYTES: number = 64 * 1024 * 1024;

/** A table or an index, by name. */
type Part = {
  readonly name: string;
  readonly sql: string;
  /** Puts into it what follows from the tables before it. */
  readonly fill?: string;
  /** A column that `sql` adds to a table that is there already. */
  readonly column?: string;
};

/**
 * Run numbers instead of ids, and `tree × 2^28 + seq` as the key of an event: text keys cost half the speed. The row of a
 * root also says who works on its tree, in front because every append asks for that. A task or prompt over 64 KB is a blob:
 * the hash of its text. Node 22 reads no text behind a character 0, so it is written as `\u0000` in texts and as bytes in blobs.
 */
const RUNS: Part = {
  name: "runs",
  sql: `CREATE TABLE runs (
  number INTEGER PRIMARY KEY,
  fence INTEGER,
  owner TEXT,
  leased_until INTEGER,
  id TEXT NOT NULL UNIQUE,
  root INTEGER NOT NULL,
  parent INTEGER,
  agent_id TEXT NOT NULL,
  path TEXT NOT NULL,
  depth INTEGER NOT NULL,
  agent TEXT NOT NULL,
  label TEXT NOT NULL,
  model TEXT NOT NULL,
  task TEXT NOT NULL,
  summary_prompt TEXT,
  allowed_tools TEXT NOT NULL,
  first_seq INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  status TEXT NOT NULL,
  stop_reason TEXT,
  last_seq INTEGER,
  ended_at INTEGER,
  duration_ms REAL,
  turns INTEGER,
  tool_count INTEGER,
  usage TEXT,
  cost_usd REAL,
  cwd TEXT,
  lost TEXT
)`,
};
const EVENTS: Part = {
  name: "events",
  sql: `CREATE TABLE events (
  key INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  type TEXT NOT NULL,
  json TEXT NOT NULL
)`,
};
const BLOBS: Part = {
  name: "blobs",
  sql: `CREATE TABLE blobs (
  hash BLOB NOT NULL UNIQUE,
  data BLOB NOT NULL,
  uses INTEGER NOT NULL
)`,
};

/** The column with open questions, in the row of a root. */
const QUESTIONS = "questions TEXT";

/**
 * Fills the column of a database that has none yet: part of the migration, and never changed. A question is open when its run and
 * those above it have not ended since, and neither an answer nor a result of its call came later.
 */
const FILL_QUESTIONS = `WITH open AS (
  SELECT DISTINCT r.root, r.id, r.path, ${callIdOf("asked")} AS call FROM runs r CROSS JOIN events asked
  WHERE r.status = 'running' AND r.status <> 'completed' AND r.model || '/' NOT GLOB 'external/*'
    AND asked.key BETWEEN (r.root << 28) | r.first_seq AND (r.root << 28) | 0xfffffff
    AND asked.run = r.number AND asked.type = 'approval-request' AND call IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM events later
      WHERE later.key > asked.key AND later.key <= (r.root << 28) | 0xfffffff AND later.run = r.number AND (
        later.type IN ('approval-end', 'tool-call-end') AND call = ${callIdOf("later")}
        OR later.type = 'tool-call-end' AND substr(call, 1, length(${callIdOf("later")}) + 1) = ${callIdOf("later")} || '/'))
    AND NOT EXISTS (SELECT 1 FROM runs above
      WHERE above.root = r.root AND above.last_seq > asked.key & 0xfffffff
        AND substr(r.path, 1, length(above.path) + 1) = above.path || '/'))
UPDATE runs SET questions = found.questions FROM (
  SELECT root, json_group_array(json_object('runId', id, 'path', path, 'callId', call)) AS questions FROM open GROUP BY root
) AS found WHERE runs.number = found.root`;

/** An event with long texts is a list, and a damaged one has no call. */
function callIdOf(event: string): string {
  return `iif(json_valid(${event}.json), ifnull(${event}.json ->> '$.callId', ${event}.json ->> '$[0].callId'), NULL)`;
}

/** The parts that each version adds; never changed, only continued. Columns that came after version 1 are in `RUN_COLUMNS`. */
const VERSIONS: readonly (readonly Part[])[] = [
  [
    RUNS,
    EVENTS,
    BLOBS,
    index("runs_by_tree", "runs (root, parent)"),
    index("runs_by_start", "runs (started_at, id)"),
    // Most runs end as completed: among all they are soon found, and without them the index is small and seldom written.
    index("runs_by_status", "runs (status, started_at, id) WHERE status <> 'completed'"),
    index("roots_by_start", "runs (started_at, id) WHERE parent IS NULL"),
    index("roots_by_status", "runs (status, started_at, id) WHERE parent IS NULL AND status <> 'completed'"),
    index("roots_by_folder", "runs (cwd, started_at, id) WHERE cwd IS NOT NULL"),
    index("runs_by_owner", "runs (owner) WHERE owner IS NOT NULL"),
  ],
  [{ name: "purses", sql: OLD_BUDGETS }],
  [{ name: "tallies", sql: TALLIES, fill: FILL_TALLIES }],
  [{ name: "runs", sql: `ALTER TABLE runs ADD COLUMN ${QUESTIONS}`, column: QUESTIONS, fill: FILL_QUESTIONS }],
  // Runs that started since a time are found without a look at what came before.
  [index("tallies_by_start", "tallies (started_at)")],
  PLACING_PARTS,
  BUDGET_PARTS,
];

/** The version of a file is how many of these it has. */
const MIGRATIONS = withAddedColumns("sqlite", VERSIONS, ({ name, kind }): Part => {
  const column = `${name} ${SQLITE_KINDS[kind].type}`;
  return { name: RUNS.name, sql: `ALTER TABLE runs ADD COLUMN ${column}`, column };
});

export const SCHEMA_VERSION: number = MIGRATIONS.length;

/**
 * Looks at the header of a file as it lies there, so that one of another program is not even locked. Throws a `UserError`
 * when it is not ours, or comes from a newer version. What cannot be told yet, `prepareSchema` asks when the file is open.
 */
export function checkIsOurs(file: string): void {
  checkJournal(file);
  const header = readHeader(file);
  if (header === undefined) return;
  if (header.applicationId !== APPLICATION_ID) throw notOurs(file, "is not a database of sous");
  if (header.version > SCHEMA_VERSION) throw newerVersion(file, header.version);
}

/** Makes the tables, or what is missing of them. Throws a `UserError` when the file is not what it should be. */
export function prepareSchema(connection: SqliteConnection): void {
  const version = connection.read(() => versionOf(connection));
  if (version < SCHEMA_VERSION) {
    if (connection.isReadOnly)
      throw new UserError(`${connection.file} was written by an older version of sous: open it once for writing`);
    // The version is read again behind the lock, because another process may have been faster.
    connection.write(() => migrate(connection, versionOf(connection)));
  }
  connection.read(() => checkParts(connection, SCHEMA_VERSION));
}

function index(name: string, columns: string): Part {
  return { name, sql: `CREATE INDEX ${name} ON ${columns}` };
}

function versionOf(connection: SqliteConnection): number {
  const applicationId = connection.prepare("PRAGMA application_id").get()?.application_id;
  const version = Number(connection.prepare("PRAGMA user_version").get()?.user_version);
  const isNew = applicationId === 0 && version === 0;
  if (applicationId !== APPLICATION_ID && !isNew) throw notOurs(connection.file, "is not a database of sous");
  if (version > SCHEMA_VERSION) throw newerVersion(connection.file, version);
  if (version < 0) throw notOurs(connection.file, "has a version that sous never had");
  return version;
}

function migrate(connection: SqliteConnection, from: number): void {
  checkParts(connection, from);
  if (from === 0) connection.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  for (const { sql, fill } of MIGRATIONS.slice(from).flat()) {
    connection.exec(sql);
    if (fill !== undefined && from > 0) connection.exec(fill);
  }
  connection.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
}

/** A trigger, a view or a table with a column that computes something would run in our name. */
function checkParts(connection: SqliteConnection, version: number): void {
  const expected = new Map<unknown, string>();
  for (const { name, sql, column } of MIGRATIONS.slice(0, version).flat()) {
    if (sql === DROP_OLD_BUDGETS) expected.delete(name);
    // SQLite writes an added column in front of the last bracket.
    else expected.set(name, column === undefined ? sql : `${expected.get(name)?.slice(0, -1)}, ${column})`);
  }
  const found = connection.prepare(FIND_PARTS).all();
  const strange = found.find(({ name, sql }) => expected.get(name) !== sql);
  if (strange !== undefined)
    throw notOurs(connection.file, `holds ${JSON.stringify(strange.name)}, which sous did not put there`);
  if (found.length < expected.size) throw notOurs(connection.file, "lacks tables that sous put there");
}

function notOurs(file: string, what: string): UserError {
  return new UserError(`${file} ${what}: give another file with --db-path`);
}

function newerVersion(file: string, version: number): UserError {
  const known = `schema ${version}; this one knows ${SCHEMA_VERSION}`;
  return new UserError(
    `${file} was written by a newer version of sous (${known}): update sous, or give another file with --db-path`,
  );
}

/** An index that SQLite made for a table has no words of its own. */
const FIND_PARTS =
  "SELECT substr(name, 1, 100) AS name, substr(sql, 1, 10000) AS sql FROM sqlite_schema WHERE sql IS NOT NULL LIMIT 100";

type DatabaseHeader = { readonly applicationId: number; readonly version: number };

/**
 * Undefined when only opening it can tell: a checkpoint that was cut off, or is running, leaves a first page that names more
 * pages than the file has, and a write that was cut off is undone first.
 *
 * Read by SQLite: were the file opened and closed in another way, this process would lose the locks of its other connections.
 */
export function readHeader(file: string): DatabaseHeader | undefined {
  const { DatabaseSync } = loadSqlite();
  const url = pathToFileURL(file);
  url.searchParams.set("immutable", "1");
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(url, { readOnly: true });
    const applicationId = Number(database.prepare("PRAGMA application_id").get()?.application_id);
    const version = Number(database.prepare("PRAGMA user_version").get()?.user_version);
    return applicationId === 0 && isUnfinished(file) ? undefined : { applicationId, version };
  } catch (error) {
    if (hasCode(error, "corrupt")) return undefined; // guard: header-beside-a-log
    if (hasCode(error, "notADatabase")) return isUnfinished(file) ? undefined : { applicationId: 0, version: 0 };
    throw faultOf(error, file);
  } finally {
    database?.close();
  }
}

/** True when the file was not yet made, or is being made. */
function isUnfinished(file: string): boolean {
  return hasJournal(file) || statSync(file).size === 0;
}

/** True when a write to the file was cut off, or is running: what it changed is in a journal, and can be undone. */
export function hasJournal(file: string): boolean {
  return bytesAt(`${file}-journal`, "first")?.equals(MAGIC) === true;
}

/** A journal of ours never names another one, and the SQLite of Node 22 deletes whatever file a journal names. */
export function checkJournal(file: string): void {
  if (!hasJournal(file) || bytesAt(`${file}-journal`, "last")?.equals(MAGIC) !== true) return;
  throw new UserError(
    `${file}-journal names another file, as sous never does: move it away, or give another --db-path`,
  );
}

/** The beginning of a journal, and the end of one that names another. */
const MAGIC = Buffer.from("d9d505f920a163d7", "hex");

/** Undefined when there are none. */
function bytesAt(file: string, part: "first" | "last"): Buffer | undefined {
  let descriptor: number;
  try {
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch {
    return undefined;
  }
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) return undefined;
    const bytes = Buffer.alloc(MAGIC.length);
    const position = part === "first" ? 0 : Math.max(0, found.size - bytes.length);
    return readSync(descriptor, bytes, 0, bytes.length, position) === bytes.length ? bytes : undefined;
  } finally {
    closeSync(descriptor);
  }
}
