/** One run as a row of a database: written when it starts and when it ends, and not trusted when it is read. */

import type { SQLInputValue } from "node:sqlite";
import { StoreError } from "../../../core/errors.ts";
import type { EventOf, RunIdentity } from "../../../core/event.ts";
import { endOfRecord, type RunRecord } from "../../../core/store.ts";
import { type Blob, hashOf, isForBlobs, toColumn } from "../event-row.ts";
import { type EndField, emptyFields, noteDamage, RUN_COLUMNS, type RunColumn, readColumns } from "../run-columns.ts";
import { capNumber, damaged, type ReadBlob, SQLITE_KINDS, type SqliteRow, whole, words } from "./column-kinds.ts";
import type { SqliteConnection } from "./connection.ts";
import { IS_QUEUED } from "./placing-tables.ts";
import { MAX_VALUE_BYTES } from "./schema.ts";

export type SqliteRunRow = {
  readonly number: number;
  /** The number of its root, which is the number of its tree. */
  readonly tree: number;
  readonly firstSeq: number;
  /** The record as it stood when the run began, or after its end; what lies between is in its events. */
  readonly record: RunRecord;
  /** A question of its journal has no answer. */
  readonly isAsked: boolean;
  /** True while its journal was placed and no process has taken it. */
  readonly isQueued: boolean;
};

/** The position of a run among the others of a database. */
type RunNumbers = Pick<SqliteRunRow, "number" | "tree" | "firstSeq"> & { readonly parent: number | null };

/** A column of the list as SQLite holds it. */
type Column = Pick<RunColumn, "name" | "field" | "from"> & {
  readonly type: string;
  readonly isLong?: boolean;
  readonly write: (value: unknown) => SQLInputValue;
};

const COLUMNS = RUN_COLUMNS.map(({ kind, ...column }) => ({ ...column, ...SQLITE_KINDS[kind] }) as Column);
const OF_START = COLUMNS.filter(({ from }) => from === "run-start");
const OF_END = COLUMNS.filter(({ from }) => from === "run-end");

/** Part of a transaction that is open. */
export function insertRun(connection: SqliteConnection, numbers: RunNumbers, record: RunRecord): void {
  const values: SQLInputValue[] = [numbers.number, numbers.tree, numbers.parent, numbers.firstSeq];
  for (const column of OF_START) values.push(valueFor(connection, column, record));
  connection.prepare(INSERT).run(...values);
}

const INSERT = `INSERT INTO runs (number, root, parent, first_seq, ${OF_START.map(({ name }) => name).join(", ")}, status)
VALUES (?, ?, ?, ?, ${OF_START.map(() => "?").join(", ")}, 'running')`;

/** Part of a transaction that is open. */
export function endRun(connection: SqliteConnection, number: number, end: EventOf<"run-end">): void {
  const record: Pick<RunRecord, EndField> = endOfRecord(end);
  const values: SQLInputValue[] = [end.seq];
  for (const column of OF_END) values.push(valueFor(connection, column, record));
  values.push(number);
  connection.prepare(END).run(...values);
}

const END = `UPDATE runs SET last_seq = ?, ${OF_END.map(({ name }) => `${name} = ?`).join(", ")} WHERE number = ?`;

function valueFor(connection: SqliteConnection, column: Column, record: Partial<RunRecord>): SQLInputValue {
  const value = column.write(record[column.field]);
  if (column.isLong !== true || typeof value !== "string") return value;
  if (!isForBlobs(value)) return toColumn(value);
  const hash = hashOf(value);
  storeBlob(connection, { hash, text: value });
  return Buffer.from(hash, "hex");
}

/** Selects the columns that `parseIdentity` reads. */
export const SELECT_IDENTITY: string = `SELECT ${["number", "root", "parent", "depth"].map((name) => capNumber(`r.${name}`, name)).join(", ")},
  ${["id", "agent_id", "path"].map(capped).join(", ")},
  substr(p.id, 1, 1000) AS parent_id
FROM runs r LEFT JOIN runs p ON p.number = r.parent WHERE r.number = ? AND r.root = ?`;

/** Selects the columns that `parseRunRow` reads, of the run `r`, its parent `p` and the root `t` of its tree. */
export const SELECT_RUNS: string = `SELECT ${["number", "root", "parent", "first_seq", "fence"].map((name) => capNumber(`r.${name}`, name)).join(", ")},
  ${COLUMNS.map(({ name, type }) => (type === "TEXT" ? capped(name) : capNumber(`r.${name}`, name))).join(", ")}, ${capped("lost")},
  substr(p.id, 1, 1000) AS parent_id, substr(t.id, 1, 1000) AS root_id, substr(t.of_root, 1, 1000) AS of_root,
  t.questions IS NOT NULL AS is_asked, ${IS_QUEUED} AS is_queued
FROM runs r LEFT JOIN runs p ON p.number = r.parent LEFT JOIN runs t ON t.number = r.root`;

/** The hashes of the long texts in the columns of a tree, each as often as it occurs. */
export const FIND_COLUMN_BLOBS: string = COLUMNS.filter(({ isLong }) => isLong === true)
  .map(({ name }) => `SELECT hex(${name}) AS hash FROM runs WHERE root = ?1 AND typeof(${name}) = 'blob'`)
  .join("\nUNION ALL ");

export function parseIdentity(row: SqliteRow): RunIdentity {
  return {
    runId: words(row, "id"),
    agentId: words(row, "agent_id"),
    parentId: parentOf(row),
    path: words(row, "path"),
    depth: whole(row, "depth"),
  };
}

/** Returns a run, whatever the row holds: its record says when it is damaged. */
export function parseRunRow(row: SqliteRow, blob: ReadBlob): SqliteRunRow {
  const number = Number(row.number);
  const fields = emptyFields();
  // For the sentence about another column; a run without a usable id is named by its number, and not found by it.
  fields.id = row.id;
  const record = readColumns(fields, ({ name, kind }) => SQLITE_KINDS[kind].read(row, name, blob));
  if (record.id === "") record.id = `number ${number}`;
  const parsed = {
    tree: number,
    number,
    firstSeq: 0,
    record,
    isAsked: row.is_asked === 1,
    isQueued: row.is_queued === 1,
  };
  record.parentId = null;
  record.rootId = record.id;
  record.journalId = record.id;
  try {
    record.parentId = parentOf(row);
    record.journalId = words(row, "root_id");
    record.rootId = row.of_root === null ? record.journalId : words(row, "of_root");
    if (row.lost !== null) record.lost = words(row, "lost");
    parsed.tree = whole(row, "root");
    parsed.firstSeq = whole(row, "first_seq");
    if (row.fence !== null) whole(row, "fence");
  } catch (error) {
    noteDamage(record, error);
  }
  return parsed;
}

/** The id of the parent. It comes before its children, so there can be no circle among them. */
function parentOf(row: SqliteRow): string | null {
  const number = whole(row, "number");
  const tree = whole(row, "root");
  const parent = row.parent === null ? null : whole(row, "parent");
  // The parent of the first run of a placed journal is in another one.
  const isFirst = number === tree;
  if (number < tree || (parent !== null && ((parent < tree && !isFirst) || parent >= number)))
    throw damaged(row, "parent");
  return parent === null ? null : words(row, "parent_id");
}

/** No text may be too long to be one of ours. */
function capped(column: string): string {
  return `iif(octet_length(r.${column}) > 1000000, x'', r.${column}) AS ${column}`;
}

/** Stores the text, or counts one more use of it without a copy of its bytes; part of a transaction that is open. */
export function storeBlob(connection: SqliteConnection, { hash, text }: Blob): void {
  const key = Buffer.from(hash, "hex");
  if (connection.prepare(USE_AGAIN).run(key).changes > 0) return;
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_VALUE_BYTES)
    throw new StoreError(`A text of more than ${MAX_VALUE_BYTES} bytes cannot be kept`);
  connection.prepare(STORE).run(key, bytes);
}

/** Counts one use less and deletes the text with the last; part of a transaction that is open. */
export function releaseBlob(connection: SqliteConnection, hash: string): void {
  const key = Buffer.from(hash, "hex");
  connection.prepare(RELEASE).run(key);
  connection.prepare(DELETE_UNUSED).run(key);
}

/** A function that reads texts by hash, each once. A text that was changed counts as missing. */
export function blobReader(connection: SqliteConnection): (hash: string) => string | undefined {
  const texts = new Map<string, string>();
  return (hash) => {
    const known = texts.get(hash);
    if (known !== undefined) return known;
    const data = connection.prepare(READ).get(MAX_VALUE_BYTES, Buffer.from(hash, "hex"))?.data;
    if (!(data instanceof Uint8Array)) return undefined;
    if (hashOf(data) !== hash.toLowerCase()) return undefined;
    const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
    texts.set(hash, text);
    return text;
  };
}

const USE_AGAIN = "UPDATE blobs SET uses = uses + 1 WHERE hash = ?";
const STORE = "INSERT INTO blobs (hash, data, uses) VALUES (?, ?, 1)";
const RELEASE = "UPDATE blobs SET uses = uses - 1 WHERE hash = ?";
const DELETE_UNUSED = "DELETE FROM blobs WHERE hash = ? AND uses <= 0";
const READ = "SELECT data FROM blobs WHERE octet_length(data) <= ? AND hash = ?";
