/** The totals in Postgres: one row for every run that is over and for every refused child, kept when trees are deleted. */

import type { EventOf, StoredEvent } from "../../../core/event.ts";
import { errorTypeOf } from "../../../core/outcome.ts";
import type { Store } from "../../../core/store.ts";
import { checkTotalsQuery, notAMark, type Totals, type TotalsQuery } from "../../../core/totals.ts";
import { LATEST_TIME } from "../event-schema.ts";
import type { Losses } from "../lost-marks.ts";
import { readTallyRows, TALLY_NUMBERS, TALLY_SUMS, TALLY_TEXTS } from "../tally-row.ts";
import { type Connection, plannedStatement, type Query, type Row, type Statement, statement } from "./connection.ts";
import { selectRecords, toRecords } from "./read.ts";
import { IS_QUEUED } from "./trees.ts";

/** Counts what of these events is to be counted; the rows of their runs are up to date, and `seqOf` says which they are. */
export async function addTallies(
  query: Query,
  add: Statement,
  tree: number,
  events: readonly StoredEvent[],
  seqOf: (runId: string) => number | undefined,
): Promise<void> {
  const counted = events.filter(isCounted);
  if (counted.length === 0) return;
  await query(add, [
    tree,
    counted.map(({ runId }) => seqOf(runId)),
    counted.map((event) => (event.type === "run-end" ? errorTypeOf(event) : event.errorType) ?? null),
    counted.map((event) => (event.type === "run-end" ? null : event.time)),
  ]);
}

function isCounted(event: StoredEvent): event is EventOf<"run-end"> | EventOf<"spawn-refused"> {
  return event.type === "run-end" || event.type === "spawn-refused";
}

export function addTalliesStatement(schema: string): Statement {
  const ofRun = RUN_COLUMNS.map((name) => `case when counted.refused_at is null then ${usable(name)} end`);
  return statement(
    `insert into ${schema}.tallies (started_at, depth, error_type, project, ${RUN_COLUMNS.join(", ")})
     select least(greatest(coalesce(counted.refused_at, r.started_at), 0), ${LATEST_TIME}), case when counted.refused_at is null then r.depth else r.depth + 1 end,
       counted.error_type, ${projectOf(schema)}, ${ofRun.join(", ")}
     from unnest($2::integer[], $3::text[], $4::double precision[]) with ordinality as counted(seq, error_type, refused_at, number)
     join ${schema}.runs r on r.tree = $1::bigint and r.seq = counted.seq
     join ${schema}.trees t on t.tree = r.tree join ${schema}.runs root on root.id = t.root_id
     order by counted.number`,
  );
}

/** Bounds the value of a column: a model of a user may have told anything. A cost out of bounds becomes null, which is unknown. */
function usable(name: (typeof RUN_COLUMNS)[number]): string {
  const most = Number.MAX_SAFE_INTEGER;
  if (name === "cost_usd") return `(case when r.cost_usd between 0 and ${most} then r.cost_usd end)`;
  const amount = `case when r.${name} > 0 and r.${name} < 'infinity' then least(r.${name}, ${most}) else 0 end`;
  if (name === "turns") return `trunc(${amount})`;
  return name === "duration_ms" || name.endsWith("_tokens") ? amount : `r.${name}`;
}

/** Counts the runs of these journals that have not ended, as interrupted. A journal that was imported is not counted. */
export function addInterruptedStatement(schema: string): Statement {
  const sums = RUN_COLUMNS.filter((name) => name !== "status" && name !== "duration_ms");
  return statement(
    `insert into ${schema}.tallies (started_at, depth, project, status, duration_ms, ${sums.join(", ")})
     select r.started_at, r.depth, ${projectOf(schema)}, 'interrupted', 0, ${sums.map(usable).join(", ")}
     from ${schema}.runs r join ${schema}.trees t on t.tree = r.tree join ${schema}.runs root on root.id = t.root_id
     where r.tree = any($1::bigint[]) and r.status = 'running' and ${IS_COUNTED} order by r.tree, r.seq`,
  );
}

/** A journal without a claim was imported, unless it was placed and waits for its first one. */
const IS_COUNTED = `(t.fence > 0 or ${IS_QUEUED})`;

/** The folder that the tree was made in, of the journal `t` and its first run `root`. */
function projectOf(schema: string): string {
  return `coalesce(root.cwd, (select above.cwd from ${schema}.runs above where above.id = t.of_root))`;
}

/** The columns that are copied from the row of a run. */
const RUN_COLUMNS = ["agent", "model", "status", ...TALLY_SUMS] as const;

export function createTotals(connection: Connection, schema: string, losses: Losses): Pick<Store, "totals"> {
  const snapshot = statement("select pg_current_snapshot()::text as snapshot");
  const unendedOf = statement(
    `${selectRecords(schema)}
     where r.status = 'running' and ${IS_COUNTED} and r.started_at >= $1 order by r.started_at, r.id`,
  );

  return {
    async totals(query: TotalsQuery = {}): Promise<Totals> {
      const { after, since, limit } = checkTotalsQuery(query);
      return connection.transaction(
        async (ask) => {
          const [row] = await ask(snapshot);
          const now = String(row?.snapshot);
          const mark = after === undefined ? {} : parseMark(after, now);
          if (mark === undefined) throw notAMark(after ?? "");
          const upTo = mark.upTo ?? now;
          const { text, values } = talliesQuery(schema, { ...mark, upTo }, since, limit + 1);
          const rows = await ask(plannedStatement(text), values);
          const page = rows.slice(0, limit);
          const read = readTallyRows(page);
          if (rows.length > limit)
            return { ...read, unended: [], mark: writeMark({ ...mark, upTo, last: lastOf(page) }), isComplete: false };
          // The runs that have not ended are those of this moment: lines that were added since the first page come before them.
          if (upTo !== now) return { ...read, unended: [], mark: upTo, isComplete: false };
          const unended = toRecords(await ask(unendedOf, [since]), losses);
          return { ...read, unended, mark: now, isComplete: true };
        },
        { isSnapshot: true },
      );
    },
  };
}

function lastOf(rows: readonly Row[]): TalliesMark["last"] {
  const row = rows.at(-1);
  return row && { xid: String(row.transaction), position: String(row.position) };
}

/**
 * Transactions commit in another order than they number their rows, so what is new is told by snapshots: it was not visible
 * in that of the last complete answer. Within an answer of several pages the first page says up to where.
 */
export function talliesQuery(
  schema: string,
  { from, upTo, last }: TalliesMark,
  since: number,
  limit: number,
): { text: string; values: unknown[] } {
  const values: unknown[] = [];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const conditions = [`pg_visible_in_snapshot(xid, ${parameter(upTo)}::pg_snapshot)`];
  // Every line is since 0: a condition that all of them meet could lead the planner to the index of times.
  if (since > 0) conditions.push(`started_at >= ${parameter(since)}`);
  if (from !== undefined) {
    const earlier = `${parameter(from)}::pg_snapshot`;
    conditions.push(`xid >= pg_snapshot_xmin(${earlier})`, `not pg_visible_in_snapshot(xid, ${earlier})`);
  }
  if (last !== undefined)
    conditions.push(`(xid, position) > (${parameter(last.xid)}::xid8, ${parameter(last.position)}::bigint)`);
  // The column is not called `xid`: it would be sorted as a text.
  const text = `select xid::text as transaction, position, ${[...TALLY_NUMBERS, ...TALLY_TEXTS].join(", ")}
    from ${schema}.tallies where ${conditions.join(" and ")} order by xid, position limit ${parameter(limit)}`;
  return { text, values };
}

type TalliesMark = {
  /** The snapshot of the last complete answer: what was visible in it has been read. */
  readonly from?: string | undefined;
  /** The snapshot of the first page of an answer that is read in pages. */
  readonly upTo?: string | undefined;
  /** The last line of its last page. */
  readonly last?: { readonly xid: string; readonly position: string } | undefined;
};

export function writeMark({ from = "", upTo = "", last }: TalliesMark): string {
  return [from, upTo, last?.xid, last?.position].join("/");
}

/** Undefined when it is not a mark, or one of a server that is further than this one is `now`. */
export function parseMark(mark: string, now: string): TalliesMark | undefined {
  const [from = "", ...rest] = mark.split("/");
  if (from !== "" && !isSnapshot(from, now)) return undefined;
  if (rest.length === 0) return from === "" ? undefined : { from };
  const [upTo = "", xid = "", position = ""] = rest;
  if (rest.length !== 3 || !isSnapshot(upTo, now) || !isNumber(xid) || !isNumber(position)) return undefined;
  return { from: from === "" ? undefined : from, upTo, last: { xid, position } };
}

/**
 * True for a snapshot as Postgres writes one: the first transaction that may run, the first that has not begun, and those
 * between them that run.
 */
function isSnapshot(text: string, now: string): boolean {
  const [first = "", end = "", running, ...rest] = text.split(":");
  if (running === undefined || rest.length > 0) return false;
  const between = running === "" ? [] : running.split(",");
  if (![first, end, ...between].every(isNumber)) return false;
  const [, latest = "0"] = now.split(":");
  const isOrdered = between.every((xid, index) => BigInt(between[index - 1] ?? first) <= BigInt(xid));
  return isOrdered && BigInt(between.at(-1) ?? first) <= BigInt(end) && BigInt(end) <= BigInt(latest);
}

function isNumber(text: string): boolean {
  return /^[1-9][0-9]{0,17}$/.test(text);
}
