/** The kinds of columns as SQLite holds them: the type, what is written, and how it is read from a row that is not trusted. */

import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import type { DamageError, RunRecord } from "../../../core/store.ts";
import { noUsage, type Usage } from "../../../core/usage.ts";
import { RUN_STATUSES } from "../../../core/words/outcomes.ts";
import { fromColumn, toColumn } from "../event-row.ts";
import { type ColumnKind, type ColumnValues, damagedRun } from "../run-columns.ts";

export type SqliteRow = Readonly<Record<string, SQLOutputValue>>;

/** Finds a long text by the hash that is in its column. */
export type ReadBlob = (hash: string) => string | undefined;

type SqliteKind<Value> = {
  readonly type: "TEXT" | "INTEGER" | "REAL";
  /** A text over 64 KB is stored apart, and the column holds its hash: then this writes the text as it is. */
  readonly isLong?: boolean;
  readonly write: (value: Value) => SQLInputValue;
  /** Throws a `DamageError` when the row holds no such value. */
  readonly read: (row: SqliteRow, column: string, blob: ReadBlob) => Value;
};

const text: SqliteKind<string> = { type: "TEXT", write: toColumn, read: words };
const long: SqliteKind<string> = { type: "TEXT", isLong: true, write: (value) => value, read: longWords };
const time: SqliteKind<number> = { type: "INTEGER", write: (value) => value, read: amount };

/** Before the end of a run, the columns that its end fills are null. */
export const SQLITE_KINDS: { readonly [Kind in ColumnKind]: SqliteKind<ColumnValues[Kind]> } = {
  text,
  "text?": maybe(text),
  long,
  "long?": maybe(long),
  names: { type: "TEXT", write: (names) => JSON.stringify(names), read: namesIn },
  status: { type: "TEXT", write: (status) => status, read: statusIn },
  depth: { type: "INTEGER", write: (depth) => depth, read: whole },
  time,
  "time?": maybe(time),
  count: {
    type: "INTEGER",
    write: (count) => count,
    read: (row, column) => (row[column] === null ? 0 : amount(row, column)),
  },
  "amount?": maybe({ type: "REAL", write: (value) => value, read: amount }),
  usage: {
    type: "TEXT",
    write: (usage) => JSON.stringify(usage),
    read: (row, column) => (row[column] === null ? noUsage() : usageIn(row, column)),
  },
  cost: { type: "REAL", write: (cost) => cost, read: costIn },
};

function maybe<Value>(kind: SqliteKind<Value>): SqliteKind<Value | undefined> {
  return {
    ...kind,
    write: (value) => (value === undefined ? null : kind.write(value)),
    read: (row, column, blob) => (row[column] === null ? undefined : kind.read(row, column, blob)),
  };
}

/** As SQL: no number may be too large for JavaScript, because then the whole answer would fail. */
export function capNumber(value: string, name: string): string {
  const most = Number.MAX_SAFE_INTEGER;
  return `iif(${value} > ${most} OR ${value} < -${most}, x'', ${value}) AS ${name}`;
}

/** A text with characters that a column may not be able to hold. */
export function words(row: SqliteRow, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw damaged(row, column);
  return fromColumn(value);
}

function longWords(row: SqliteRow, column: string, blob: ReadBlob): string {
  const value = row[column];
  if (!(value instanceof Uint8Array)) return words(row, column);
  const found = blob(Buffer.from(value).toString("hex"));
  if (found === undefined) throw damaged(row, column);
  return found;
}

function amount(row: SqliteRow, column: string): number {
  const value = row[column];
  if (typeof value !== "number" || !Number.isFinite(value)) throw damaged(row, column);
  return value;
}

export function whole(row: SqliteRow, column: string): number {
  const value = amount(row, column);
  if (!Number.isSafeInteger(value) || value < 0) throw damaged(row, column);
  return value;
}

function statusIn(row: SqliteRow, column: string): RunRecord["status"] {
  const found = STATUSES.find((status) => status === row[column]);
  if (found === undefined) throw damaged(row, column);
  return found;
}

/** Nothing is spent at the start; after the end, null says that a price was unknown. */
function costIn(row: SqliteRow, column: string): number | null {
  if (row.status === "running") return 0;
  return row[column] === null ? null : amount(row, column);
}

function usageIn(row: SqliteRow, column: string): Usage {
  const found = json(row, column);
  const usage = noUsage();
  if (typeof found !== "object" || found === null) throw damaged(row, column);
  for (const [name, value] of Object.entries(found)) {
    if (!Object.hasOwn(usage, name) || typeof value !== typeof usage[name as keyof Usage]) throw damaged(row, column);
  }
  return { ...usage, ...found };
}

function namesIn(row: SqliteRow, column: string): readonly string[] {
  const found = json(row, column);
  if (!Array.isArray(found) || !found.every((name) => typeof name === "string")) throw damaged(row, column);
  return found;
}

function json(row: SqliteRow, column: string): unknown {
  const value = row[column];
  if (typeof value !== "string") throw damaged(row, column);
  try {
    return JSON.parse(value);
  } catch (error) {
    if (error instanceof SyntaxError) throw damaged(row, column);
    throw error;
  }
}

export function damaged({ id, number }: SqliteRow, column: string): DamageError {
  return damagedRun(typeof id === "string" ? id : `number ${number}`, column);
}

/** A run is stored as running, or as it ended; whether it was interrupted or waits is found out when it is read. */
const STATUSES: readonly RunRecord["status"][] = ["running", ...RUN_STATUSES];
