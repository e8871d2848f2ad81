/** The totals in a database: one row for every run that is over and for every refused child, kept when trees are deleted. */

import type { SQLInputValue } from "node:sqlite";
import { StoreError } from "../../../core/errors.ts";
import type { EventOf } from "../../../core/event.ts";
import { errorTypeOf } from "../../../core/outcome.ts";
import type { RunRecord } from "../../../core/store.ts";
import { notAMark, type TallySums, type Totals, usableSums } from "../../../core/totals.ts";
import type { Usage } from "../../../core/usage.ts";
import { LATEST_TIME } from "../event-schema.ts";
import { MAX_RUN_DEPTH, USAGE_COLUMNS } from "../run-columns.ts";
import { readTallyRows, TALLY_NUMBERS, TALLY_SUMS, TALLY_TEXTS } from "../tally-row.ts";
import { capNumber } from "./column-kinds.ts";
import type { SqliteConnection } from "./connection.ts";

/** Writers come one after the other and no row is deleted, so positions only grow: a mark is one of them. */
export const TALLIES = `CREATE TABLE tallies (
  position INTEGER PRIMARY KEY,
  started_at INTEGER NOT NULL,
  depth INTEGER NOT NULL,
  status TEXT,
  error_type TEXT,
  agent TEXT,
  model TEXT,
  project TEXT,
  duration_ms REAL,
  turns INTEGER,
  input_tokens INTEGER,
  output_tokens INTEGER,
  cached_input_tokens INTEGER,
  cache_write_tokens INTEGER,
  total_tokens INTEGER,
  is_estimated INTEGER,
  cost_usd REAL
)`;

/** Counts a run that ends; called before its row says so, and part of a transaction that is open. */
export function tallyRun(connection: SqliteConnection, number: number, end: EventOf<"run-end">): void {
  connection.prepare(ADD_RUN).run(end.status, errorTypeOf(end) ?? null, ...sumsOf(end), number);
}

/** Counts a run whose tree is deleted before the run has ended; part of a transaction that is open. */
export function tallyInterrupted(connection: SqliteConnection, number: number, run: RunRecord): void {
  connection.prepare(ADD_RUN).run("interrupted", null, ...sumsOf({ ...run, durationMs: 0 }), number);
}

/** Counts a child that was refused by the run with this number; part of a transaction that is open. */
export function tallyRefusal(connection: SqliteConnection, number: number, refused: EventOf<"spawn-refused">): void {
  connection.prepare(ADD_REFUSAL).run(refused.time, refused.errorType, number);
}

/** The sums in the order of `TALLY_SUMS`. */
function sumsOf(given: TallySums): SQLInputValue[] {
  const { durationMs, turns, usage, costUsd } = usableSums(given);
  const used = Object.keys(USAGE_COLUMNS).map((part) => Number(usage[part as keyof Usage]));
  return [durationMs, turns, ...used, costUsd];
}

type TalliesQuery = { readonly after: string | undefined; readonly since: number; readonly limit: number };

/** Part of a transaction that is open. */
export function readTallies(connection: SqliteConnection, query: TalliesQuery): Omit<Totals, "unended"> {
  const last = Number(connection.prepare(FIND_LAST).get()?.position ?? 0);
  const from = query.after === undefined ? beforeFirst(connection, query.since) : positionOf(query.after, last);
  const rows = connection.prepare(SELECT_TALLIES).all(from, query.since, query.limit + 1);
  // A table whose pages point at each other in a circle would never end.
  const isOrdered = rows.every(({ position }, index) => Number(position) > Number(rows[index - 1]?.position ?? from));
  if (!isOrdered) throw new StoreError("The totals are damaged in the store: a line comes after a later one");
  const isComplete = rows.length <= query.limit;
  const page = rows.slice(0, query.limit);
  const mark = isComplete ? last : page.at(-1)?.position;
  const { tallies, damaged } = readTallyRows(page);
  const strays = query.after === undefined ? Number(connection.prepare(COUNT_STRAYS).get()?.count) : 0;
  return { tallies, damaged: damaged + strays, mark: String(mark), isComplete };
}

/** A position before the first line of a window: what was added before it is not read. */
function beforeFirst(connection: SqliteConnection, since: number): number {
  if (since === Number.NEGATIVE_INFINITY) return 0;
  return Number(connection.prepare(FIND_FIRST).get(since)?.position ?? LAST_POSITION) - 1;
}

function positionOf(mark: string, last: number): number {
  const position = Number(mark);
  if (!(Number.isSafeInteger(position) && position >= 0 && position <= last && String(position) === mark))
    throw notAMark(mark);
  return position;
}

const COLUMNS = `started_at, depth, agent, model, project, status, error_type, ${TALLY_SUMS.join(", ")}`;
/** The folder that the tree was made in, of the first run `t` of a journal. */
const PROJECT = "ifnull(t.cwd, (SELECT above.cwd FROM runs above WHERE above.id = t.of_root))";
const ADD_RUN = `INSERT INTO tallies (${COLUMNS})
SELECT r.started_at, r.depth, r.agent, r.model, ${PROJECT}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
FROM runs r JOIN runs t ON t.number = r.root WHERE r.number = ? AND r.status = 'running'`;
const ADD_REFUSAL = `INSERT INTO tallies (started_at, depth, error_type, project)
SELECT ?, r.depth + 1, ?, ${PROJECT} FROM runs r JOIN runs t ON t.number = r.root WHERE r.number = ?`;
const LAST_POSITION = Number.MAX_SAFE_INTEGER;
const FIND_LAST = `SELECT max(position) AS position FROM tallies WHERE position <= ${LAST_POSITION}`;
/** Lines at positions that we never give. */
const COUNT_STRAYS = `SELECT (SELECT count(*) FROM tallies WHERE position < 1)
  + (SELECT count(*) FROM tallies WHERE position > ${LAST_POSITION}) AS count`;
/** Looks at the lines of the window alone. Unless the index is named, it looks at all lines before the first. */
export const FIND_FIRST: string = `SELECT min(position) AS position FROM tallies INDEXED BY tallies_by_start
WHERE started_at >= ? AND position BETWEEN 1 AND ${LAST_POSITION}`;

/** A text longer than any of ours is not read. */
const TEXTS = TALLY_TEXTS.map((name) => `iif(octet_length(${name}) > 1000000, x'', ${name}) AS ${name}`).join(", ");
const NUMBERS = TALLY_NUMBERS.map((name) => capNumber(name, name)).join(", ");
/** The next ones after a position: a search in the table itself, however many there are. */
export const SELECT_TALLIES: string = `SELECT position, ${NUMBERS}, ${TEXTS} FROM tallies
WHERE position > ? AND position <= ${LAST_POSITION} AND +started_at >= ? ORDER BY position LIMIT ?`;

const ENDINGS = "'completed', 'incomplete', 'budget_exceeded', 'timeout', 'cancelled', 'refused', 'failed'";

/**
 * Fills the table of a database that has none yet: part of the migration, and never changed. Trees without a claim were imported.
 * A row may be damaged: what it does not say is counted as nothing, because a line that cannot be read stays for ever.
 */
export const FILL_TALLIES = `INSERT INTO tallies (${COLUMNS})
SELECT ${amount("started_at", LATEST_TIME)}, ${whole("depth", MAX_RUN_DEPTH + 1)}, ${name("agent")}, ${name("model")}, ${name("project")},
  status, CASE
    WHEN status IN ('completed', 'incomplete') THEN NULL
    WHEN error_type IN ('depth_limit', 'invalid_input', 'quota', 'timeout', 'cancelled', 'refused', 'consent', 'model', 'tool',
      'crash', 'store') THEN error_type
    WHEN status = 'budget_exceeded' THEN 'quota'
    WHEN status IN ('timeout', 'cancelled', 'refused') THEN status
    WHEN status IS NULL THEN 'refused'
    ELSE 'crash' END,
  ${amount("duration_ms")}, ${whole("turns")}, ${tokens("inputTokens")}, ${tokens("outputTokens")}, ${tokens("cachedInputTokens")},
  ${tokens("cacheWriteTokens")}, ${tokens("totalTokens")}, ${tokens("estimated")},
  iif(cost_usd BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}, cost_usd, NULL)
FROM (
  SELECT r.started_at, r.depth, r.agent, r.model, t.cwd AS project, r.status, r.duration_ms, r.turns, r.cost_usd, r.ended_at AS time,
    iif(json_valid(r.usage), r.usage, '{}') AS usage,
    iif(json_valid(e.json), ifnull(e.json ->> '$.fault.type', e.json ->> '$[0].fault.type'), NULL) AS error_type
  FROM runs r JOIN runs t ON t.number = r.root
  LEFT JOIN events e ON e.key = (r.root << 28) | r.last_seq AND r.status NOT IN ('completed', 'incomplete')
  WHERE r.status <> 'running' AND t.fence > 0
  UNION ALL
  SELECT e.json ->> '$.time', r.depth + 1, NULL, NULL, t.cwd, NULL, NULL, NULL, NULL, e.json ->> '$.time',
    '{}', e.json ->> '$.errorType'
  FROM events e JOIN runs r ON r.number = e.run JOIN runs t ON t.number = r.root
  WHERE e.type = 'spawn-refused' AND t.fence > 0 AND iif(json_valid(e.json), typeof(e.json ->> '$.time'), '') IN ('integer', 'real')
) WHERE status IS NULL OR status IN (${ENDINGS}) ORDER BY time`;

function tokens(name: keyof Usage): string {
  return amount(`usage ->> '$.${name}'`);
}

function amount(value: string, most: number = Number.MAX_SAFE_INTEGER): string {
  return `iif(${value} BETWEEN 0 AND ${Number.MAX_VALUE}, min(${value}, ${most}), 0)`;
}

function whole(value: string, most?: number): string {
  return `CAST(${amount(value, most)} AS INTEGER)`;
}

function name(column: string): string {
  return `iif(typeof(${column}) = 'blob' OR octet_length(${column}) > 1000000, '', ${column})`;
}
