/** One run as a row of the table `runs`: which columns there are, what goes in and what comes out. */

import type { RunIdentity } from "../../../core/event.ts";
import { DamageError, type RunRecord } from "../../../core/store.ts";
import { noUsage, type Usage } from "../../../core/usage.ts";
import { type Blob, blobsOf, fromColumn, hashOf, toColumn } from "../event-row.ts";
import {
  type ColumnKind,
  type ColumnValues,
  damagedRun,
  emptyFields,
  RUN_COLUMNS,
  type RunColumn,
  readColumns,
  USAGE_COLUMNS,
} from "../run-columns.ts";
import { type Query, type Row, statement } from "./connection.ts";
import { IS_QUEUED } from "./trees.ts";

export type PostgresRunRow = {
  readonly record: RunRecord;
  /** The number of its `run-start`; within the tree it stands for the run. */
  readonly seq: number;
  /** The number of its `run-end`. */
  endSeq: number | undefined;
};

type Column = {
  readonly name: string;
  readonly type: "text" | "double precision" | "integer" | "bigint" | "boolean";
  readonly value: (row: PostgresRunRow) => string | number | boolean | undefined | null;
};

/** A kind of column as Postgres holds it: one column, or several. */
type PostgresKind<Value> = {
  readonly columns: (name: string, value: (row: PostgresRunRow) => Value) => readonly Column[];
  readonly read: (row: Row, name: string) => Value;
};

const text: PostgresKind<string> = { columns: textColumn, read: (row, name) => textAt(row[name]) ?? "" };
const maybeText: PostgresKind<string | undefined> = { columns: textColumn, read: (row, name) => textAt(row[name]) };
const number: PostgresKind<number> = { columns: numberColumn, read: (row, name) => Number(row[name]) };
const maybeNumber: PostgresKind<number | undefined> = {
  columns: numberColumn,
  read: (row, name) => numberAt(row[name]),
};

const KINDS: { readonly [Kind in ColumnKind]: PostgresKind<ColumnValues[Kind]> } = {
  text,
  "text?": maybeText,
  long: text,
  "long?": maybeText,
  names: {
    columns: (name, value) => [{ name, type: "text", value: (row) => JSON.stringify(value(row)) }],
    read: namesIn,
  },
  status: { columns: textColumn, read: (row, name) => String(row[name]) as RunRecord["status"] },
  depth: number,
  time: number,
  "time?": maybeNumber,
  count: number,
  "amount?": maybeNumber,
  usage: { columns: usageColumns, read: usageIn },
  cost: { columns: numberColumn, read: (row, name) => numberAt(row[name]) ?? null },
};

const USAGE = Object.entries(USAGE_COLUMNS) as [keyof Usage, string][];

const SEQ: Column = { name: "seq", type: "integer", value: ({ seq }) => seq };

/** The columns that are written at the start of a run. */
const FIXED: readonly Column[] = [
  SEQ,
  ...textColumn("parent_id", ({ record }) => record.parentId),
  ...columnsFrom("run-start"),
];

/** The columns that are written while it runs and at its end. */
const CHANGING: readonly Column[] = [
  { name: "end_seq", type: "integer", value: ({ endSeq }) => endSeq },
  ...columnsFrom("run-end"),
];

const ALL: readonly Column[] = [...FIXED, ...CHANGING];

/** Every column of a run and of the tree it is in, from `runs r join trees t`. */
export const RECORD_COLUMNS: string = [
  ...ALL.map(({ name }) => `r.${name}`),
  "t.root_id",
  "t.of_root",
  "t.owner",
  "t.lease_until > clock_timestamp() as is_leased",
  "case when r.id = t.root_id then t.lost end as lost",
  "t.questions is not null as is_asked",
  `${IS_QUEUED} as is_queued`,
].join(", ");

/** The columns with the identity of the run of an event, from `runs r`. */
export const IDENTITY_COLUMNS = "r.id, r.agent_id, r.parent_id, r.path, r.depth";

/** The columns that counting continues from; the rest is left out, because a task can be long. */
export const COUNTED_COLUMNS: string = ["seq", "id", "model", ...CHANGING.map(({ name }) => name)].join(", ");

/** Adds runs to the tree `$1`; its values begin at `$first`. */
export function insertRuns(schema: string, first: number): string {
  const names = ALL.map(({ name }) => name).join(", ");
  return `insert into ${schema}.runs (tree, ${names}) select $1::bigint, ${names} from ${unnest(ALL, first)}`;
}

/** Brings runs of the tree `$1` up to date; its values begin at `$first`. */
export function updateRuns(schema: string, first: number): string {
  const changes = CHANGING.map(({ name }) => `${name} = rows.${name}`).join(", ");
  return `update ${schema}.runs as r set ${changes} from ${unnest([SEQ, ...CHANGING], first)}
          where r.tree = $1::bigint and r.seq = rows.seq`;
}

/** Adds the first runs of journals, each to its own; their values begin at `$first`. */
export function insertPlaced(schema: string, first: number): string {
  const names = OF_PLACED.map(({ name }) => name).join(", ");
  return `insert into ${schema}.runs (${names}) select ${names} from ${unnest(OF_PLACED, first)}`;
}

type PlacedRunRow = PostgresRunRow & { readonly tree: number };

const OF_PLACED: readonly (Omit<Column, "value"> & { readonly value: (row: PlacedRunRow) => unknown })[] = [
  { name: "tree", type: "bigint", value: ({ tree }) => tree },
  ...ALL,
];

export function placedValues(rows: readonly PlacedRunRow[]): unknown[] {
  return OF_PLACED.map(({ value }) => rows.map(value));
}

export const INSERT_VALUES: number = ALL.length;
export const UPDATE_VALUES: number = CHANGING.length + 1;

export function insertValues(rows: readonly PostgresRunRow[]): unknown[] {
  return ALL.map(({ value }) => rows.map(value));
}

export function updateValues(rows: readonly PostgresRunRow[]): unknown[] {
  return [SEQ, ...CHANGING].map(({ value }) => rows.map(value));
}

/** Makes the record of a row, which says when it is damaged. `isAlive` knows whether a process works on its tree. */
export function recordOf(row: Row, isAlive: (row: Row) => boolean): RunRecord {
  const record = readColumns(emptyFields(), ({ name, kind }) => KINDS[kind].read(row, name));
  record.parentId = textAt(row.parent_id) ?? null;
  record.journalId = textAt(row.root_id) ?? "";
  record.rootId = textAt(row.of_root) ?? record.journalId;
  if (row.lost !== null && row.lost !== undefined) record.lost = textAt(row.lost);
  if (record.status === "running" && !isAlive(row)) record.status = statusWithoutOwner(row);
  return record;
}

function statusWithoutOwner({ is_queued, is_asked }: Row): RunRecord["status"] {
  if (is_queued === true) return "queued";
  return is_asked === true ? "waiting" : "interrupted";
}

export function identityOf(row: Row): RunIdentity {
  if (row.id === null) throw new DamageError(`Event ${row.seq} belongs to a run that is missing: the store is damaged`);
  return {
    runId: textAt(row.id) ?? "",
    agentId: textAt(row.agent_id) ?? "",
    parentId: textAt(row.parent_id) ?? null,
    path: textAt(row.path) ?? "",
    depth: Number(row.depth),
  };
}

/** A step of a migration. */
export function addColumn(column: RunColumn): string {
  const columns = columnsOf(column).map(({ name, type }) => `add column ${name} ${type}`);
  return `alter table SCHEMA.runs ${columns.join(", ")}`;
}

function columnsFrom(event: RunColumn["from"]): Column[] {
  return RUN_COLUMNS.filter(({ from }) => from === event).flatMap(columnsOf);
}

function columnsOf({ name, field, kind }: RunColumn): readonly Column[] {
  const { columns } = KINDS[kind] as PostgresKind<unknown>;
  return columns(name, ({ record }) => record[field]);
}

function textColumn(name: string, value: (row: PostgresRunRow) => string | null | undefined): Column[] {
  const written = (row: PostgresRunRow) => {
    const given = value(row);
    return typeof given === "string" ? toColumn(given) : null;
  };
  return [{ name, type: "text", value: written }];
}

function numberColumn(name: string, value: (row: PostgresRunRow) => number | null | undefined): Column[] {
  return [{ name, type: "double precision", value }];
}

function usageColumns(_: string, value: (row: PostgresRunRow) => Usage): Column[] {
  return USAGE.map(([part, name]) => ({
    name,
    type: part === "estimated" ? "boolean" : "double precision",
    value: (row) => value(row)[part],
  }));
}

function usageIn(row: Row): Usage {
  const usage = noUsage();
  for (const [part, name] of USAGE) {
    if (part === "estimated") usage.estimated = row[name] === true;
    else usage[part] = Number(row[name]);
  }
  return usage;
}

function unnest(columns: readonly Omit<Column, "value">[], first: number): string {
  const lists = columns.map(({ type }, index) => `$${first + index}::${type}[]`);
  return `unnest(${lists.join(", ")}) as rows(${columns.map(({ name }) => name).join(", ")})`;
}

type Value = Row[string] | undefined;

function textAt(value: Value): string | undefined {
  return typeof value === "string" ? fromColumn(value) : undefined;
}

function numberAt(value: Value): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** JSON keeps every character by itself. */
function namesIn(row: Row, column: string): string[] {
  if (row[column] === undefined) return [];
  try {
    return JSON.parse(String(row[column]));
  } catch {
    throw damagedRun(textAt(row.id) ?? "", column);
  }
}

/** Long texts by their hash: each is kept once, and counted as often as events refer to it. */
export async function storeBlobs(query: Query, schema: string, blobs: readonly Blob[]): Promise<void> {
  const uses = countedHashes(blobs.map(({ hash }) => hash));
  const texts = new Map(blobs.map(({ hash, text }) => [hash, text]));
  for (const [hash, count] of uses) {
    // A text that is there already need not be sent again.
    const useAgain = statement(`update ${schema}.blobs set uses = uses + $2 where hash = $1 returning uses`);
    if ((await query(useAgain, [hash, count])).length > 0) continue;
    await query(
      statement(
        `insert into ${schema}.blobs as b (hash, uses, content) values ($1, $2, $3)
         on conflict (hash) do update set uses = b.uses + excluded.uses`,
      ),
      [hash, count, Buffer.from(texts.get(hash) ?? "")],
    );
  }
}

/** Releases the texts that these rows of events refer to, and deletes those without a reference. */
export async function releaseBlobs(query: Query, schema: string, jsons: readonly string[]): Promise<void> {
  const uses = countedHashes(jsons.flatMap(blobsOf));
  for (const [hash, count] of uses)
    await query(statement(`update ${schema}.blobs set uses = uses - $2 where hash = $1`), [hash, count]);
  await query(statement(`delete from ${schema}.blobs where hash = any($1::text[]) and uses <= 0`), [
    uses.map(([hash]) => hash),
  ]);
}

/** The texts that these rows of events refer to; none that was changed. */
export async function readBlobs(query: Query, schema: string, jsons: readonly string[]): Promise<Map<string, string>> {
  const hashes = [...new Set(jsons.flatMap(blobsOf))];
  if (hashes.length === 0) return new Map();
  const rows = await query(
    statement(`select hash, encode(content, 'base64') as content from ${schema}.blobs where hash = any($1::text[])`),
    [hashes],
  );
  const texts = rows.map(({ hash, content }) => [String(hash), Buffer.from(String(content), "base64")] as const);
  const unchanged = texts.filter(([hash, bytes]) => hashOf(bytes) === hash);
  return new Map(unchanged.map(([hash, bytes]) => [hash, bytes.toString()]));
}

/** Always in the same order, so that two transactions that need the same texts do not wait for each other in a ring. */
function countedHashes(hashes: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const hash of hashes.toSorted()) counts.set(hash, (counts.get(hash) ?? 0) + 1);
  return [...counts];
}
