/** Answers questions about the runs of a database. */

import type { SQLInputValue } from "node:sqlite";
import type { StoredEvent } from "../../../core/event.ts";
import {
  addToRunRecord,
  checkRunQuery,
  type DamageError,
  type ReadOptions,
  type RunQuery,
  type RunRecord,
} from "../../../core/store.ts";
import { checkTotalsQuery, type Totals, type TotalsQuery } from "../../../core/totals.ts";
import { isUnended } from "../../../core/words/outcomes.ts";
import { toColumn } from "../event-row.ts";
import { LAST_SEQ } from "../event-schema.ts";
import { type EndField, noteDamage, RUN_COLUMNS } from "../run-columns.ts";
import type { SqliteClaims } from "./claims.ts";
import type { SqliteConnection } from "./connection.ts";
import { type EventRange, eventsIn } from "./events.ts";
import { IS_QUEUED, journalsOf } from "./placing-tables.ts";
import { blobReader, parseRunRow, SELECT_RUNS, type SqliteRunRow } from "./run-row.ts";
import { readTallies } from "./tallies.ts";

export class SqliteReader {
  readonly #connection: SqliteConnection;
  readonly #claims: SqliteClaims;
  #known: KnownSums = new Map();

  constructor(connection: SqliteConnection, claims: SqliteClaims) {
    this.#connection = connection;
    this.#claims = claims;
  }

  read(rootId: string, options: ReadOptions): StoredEvent[] {
    return this.#connection.read(() => {
      const range = this.#range(rootId, options);
      const limit = options.limit ?? Number.POSITIVE_INFINITY;
      if (range === undefined) return [];
      return eventsIn(this.#connection, range, options.onDamage).take(Math.max(0, limit)).toArray();
    });
  }

  run(runId: string): RunRecord | undefined {
    return this.#connection.read(() => this.#records(this.#rows(SELECT_RUN, toColumn(runId))))[0];
  }

  list(query: RunQuery): RunRecord[] {
    checkRunQuery(query);
    return this.#connection.read(() => {
      const { limit = Number.POSITIVE_INFINITY, offset = 0 } = query;
      const { sql, values } = listQuery(query, () => this.#claims.treesAtWork());
      const most = Number.isFinite(limit) ? limit : -1;
      return this.#records(this.#rows(sql, ...values, most, offset));
    });
  }

  children(runId: string): RunRecord[] {
    return this.#connection.read(() => this.#records(this.#rows(SELECT_CHILDREN, toColumn(runId))));
  }

  tree(rootId: string): RunRecord[] {
    return this.#connection.read(() => {
      const runs = this.#rows(SELECT_TREE, toColumn(rootId));
      // Journal by journal: the one of the root comes first, and each comes behind the one of the run above it.
      return this.#records(runs.sort((left, right) => left.tree - right.tree || left.number - right.number));
    });
  }

  totals(query: TotalsQuery): Totals {
    const checked = checkTotalsQuery(query);
    const { totals, known } = this.#connection.read(() => {
      const read = readTallies(this.#connection, checked);
      if (!read.isComplete) return { totals: { ...read, unended: [] }, known: this.#known };
      const runs = this.#rows(SELECT_UNENDED, checked.since);
      const known = fillSums(runs, this.#known, {
        lastSeq: (tree) => lastSeqOf(this.#connection, tree),
        count: (tree, ofTree) => this.#count(tree, ofTree),
      });
      for (const [tree, ofTree] of Map.groupBy(runs, (run) => run.tree)) this.#markLeft(tree, ofTree);
      return { totals: { ...read, unended: runs.map(({ record }) => record) }, known };
    });
    this.#known = known;
    return totals;
  }

  /**
   * The runs of a tree that have not ended, by number; none of an imported tree, and none that is damaged, because its amounts
   * are not known. Part of a transaction that is open.
   */
  unendedOf(tree: number): Map<number, RunRecord> {
    const rows = this.#rows(SELECT_UNENDED_OF, tree);
    this.#records(rows);
    return new Map(rows.flatMap(({ number, record }) => (record.damage === undefined ? [[number, record]] : [])));
  }

  #range(rootId: string, { after = 0, runId }: ReadOptions): EventRange | undefined {
    const tree = this.#claims.find(rootId)?.number;
    if (tree === undefined) return undefined;
    const from = Math.max(0, Math.floor(after) + 1);
    if (runId === undefined) return { tree, from, to: LAST_SEQ };
    const run = this.#connection.prepare(FIND_REACH).get(toColumn(runId), tree);
    if (run === undefined) return undefined;
    const { number, first_seq: firstSeq, last_seq: lastSeq } = run;
    return { tree, from: Math.max(from, Number(firstSeq)), to: Number(lastSeq ?? LAST_SEQ), runs: [Number(number)] };
  }

  #rows(sql: string, ...values: SQLInputValue[]): SqliteRunRow[] {
    const blob = blobReader(this.#connection);
    const rows = this.#connection.prepare(sql).all(...values);
    return rows.map((row) => parseRunRow(row, blob));
  }

  #records(runs: readonly SqliteRunRow[]): RunRecord[] {
    const unfinished = Map.groupBy(runs, ({ tree, record }) => (record.status === "running" ? tree : undefined));
    for (const [tree, open] of unfinished) {
      if (tree === undefined) continue;
      this.#count(tree, open);
      this.#markLeft(tree, open);
    }
    return runs.map(({ record }) => record);
  }

  /** Their rows are as old as their beginning: what has happened since is in the events, which are walked through once. */
  #count(tree: number, runs: readonly SqliteRunRow[]): void {
    const from = runs.reduce((first, { firstSeq }) => Math.min(first, firstSeq), LAST_SEQ) + 1;
    const records = new Map(runs.map(({ number, record }) => [number, record]));
    const range = { tree, from, to: LAST_SEQ, runs: [...records.keys()], isForRecords: true };
    const onDamage = (error: DamageError, run: number | undefined): void => {
      const harmed = run === undefined ? [...records.values()] : [records.get(run)];
      for (const record of harmed) {
        if (record === undefined) continue;
        noteDamage(record, error);
        record.usage.estimated = true;
        record.costUsd = null;
      }
    };
    const byId = new Map(runs.map(({ record }) => [record.id, record]));
    for (const event of eventsIn(this.#connection, range, onDamage)) {
      const record = byId.get(event.runId);
      if (record !== undefined) addToRunRecord(record, event);
    }
  }

  #markLeft(tree: number, runs: readonly SqliteRunRow[]): void {
    if (this.#claims.isTreeAtWork(tree)) return;
    for (const { record, isAsked, isQueued } of runs)
      if (record.status === "running") record.status = isQueued ? "queued" : isAsked ? "waiting" : "interrupted";
  }
}

const FIND_REACH = "SELECT number, first_seq, last_seq FROM runs WHERE id = ? AND root = ?";

/** The number of the last event of a tree; part of a transaction that is open. */
export function lastSeqOf(connection: SqliteConnection, tree: number): number {
  return Number(connection.prepare(FIND_LAST_SEQ).get(tree)?.seq ?? 0);
}

const FIND_LAST_SEQ =
  "SELECT key & 0xfffffff AS seq FROM events WHERE key >= ?1 << 28 AND key < (?1 + 1) << 28 ORDER BY key DESC LIMIT 1";

/** The questions about the runs of a database, in SQL. Each is answered by an index, however many runs there are. */
export const SELECT_RUN: string = `${SELECT_RUNS} WHERE r.id = ?`;
/** The children in the order in which they started. */
export const SELECT_CHILDREN: string = `${SELECT_RUNS}
WHERE r.number IN (
  SELECT number FROM runs WHERE root = (SELECT root FROM runs WHERE id = ?1) AND parent = (SELECT number FROM runs WHERE id = ?1)
  UNION ALL SELECT number FROM runs WHERE of_root IS NOT NULL AND parent = (SELECT number FROM runs WHERE id = ?1)
) ORDER BY r.number`;
/** The runs in no order: a caller that sorts them by number need not hold them twice. */
export const SELECT_TREE: string = `${SELECT_RUNS}
WHERE r.root IN ${journalsOf("?1")}`;

/** A journal without a fence was imported, and no process has claimed it, unless it was placed. */
const IS_COUNTED = `(t.fence > 0 OR ${IS_QUEUED})`;
export const SELECT_UNENDED: string = `${SELECT_RUNS} WHERE r.status = 'running' AND r.status <> 'completed' AND ${IS_COUNTED} AND r.started_at >= ? ORDER BY r.started_at, r.id`;
const SELECT_UNENDED_OF = `${SELECT_RUNS} WHERE r.root = ? AND +r.status = 'running' AND ${IS_COUNTED} ORDER BY r.number`;

/** The words and values of a list, but for its limit and offset. */
export function listQuery(
  query: RunQuery,
  treesAtWork: () => readonly number[],
): { sql: string; values: SQLInputValue[] } {
  const { status, since, rootsOnly = false, idPrefix = "", rootId, cwd } = query;
  const conditions: string[] = [];
  const values: SQLInputValue[] = [];
  if (rootsOnly) conditions.push("r.parent IS NULL");
  if (status !== undefined && isUnended(status)) {
    const isIn = status === "running" ? "IN" : "NOT IN";
    if (status === "queued") conditions.push(IS_QUEUED);
    else if (status !== "running")
      conditions.push(`NOT ${IS_QUEUED}`, `t.questions IS ${status === "waiting" ? "NOT NULL" : "NULL"}`);
    conditions.push(`r.status = 'running' AND ${NOT_COMPLETED} AND r.root ${isIn} (SELECT value FROM json_each(?))`);
    values.push(JSON.stringify(treesAtWork()));
  } else if (status !== undefined) {
    conditions.push(status === "completed" ? "r.status = ?" : `r.status = ? AND ${NOT_COMPLETED}`);
    values.push(status);
  }
  if (rootId !== undefined) {
    conditions.push(`r.root IN ${journalsOf("?")}`);
    values.push(toColumn(rootId), toColumn(rootId));
  }
  if (cwd !== undefined) {
    // Few runs have such a status. A folder may have all of them, so its index would be walked for nothing.
    const isFew = (status !== undefined && status !== "completed") || idPrefix !== "" || rootId !== undefined;
    // A placed run may say a folder, too.
    conditions.push(`${isFew ? "+" : ""}r.cwd = ?`, "t.of_root IS NULL");
    values.push(toColumn(cwd));
  }
  if (since !== undefined) {
    conditions.push("r.started_at >= ?");
    values.push(since);
  }
  if (idPrefix !== "") {
    conditions.push("r.id >= ? AND r.id < ?");
    values.push(toColumn(idPrefix), `${toColumn(idPrefix)}\u{10ffff}`);
  }
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  // Few ids begin alike, and a tree is small: finding these and sorting them beats walking through all runs by their start.
  const order = `ORDER BY ${idPrefix === "" && rootId === undefined ? "" : "+"}r.started_at DESC, r.id DESC`;
  return { sql: `${SELECT_RUNS} ${where} ${order} LIMIT ? OFFSET ?`, values };
}

/** The condition of the index by status, so that it can be used. */
const NOT_COMPLETED = "r.status <> 'completed'";

type Sums = Pick<RunRecord, EndField | "damage">;

/** The sums of some runs of a tree, valid as long as `state` is the same. */
type KnownTree = { readonly state: string; readonly sums: readonly Sums[] };

export type KnownSums = ReadonlyMap<number, KnownTree>;

type UnendedSource = {
  /** The number of the last event of a tree. */
  lastSeq(tree: number): number;
  /** Adds what the events of a tree say to the records of these runs. */
  count(tree: number, runs: readonly SqliteRunRow[]): void;
};

/** Fills in the sums of these runs. Returns what is known afterwards, to be given the next time. */
export function fillSums(runs: readonly SqliteRunRow[], known: KnownSums, source: UnendedSource): KnownSums {
  const filled = new Map<number, KnownTree>();
  for (const [tree, ofTree] of Map.groupBy(runs, (run) => run.tree)) {
    const state = [ofTree[0]?.record.rootId, source.lastSeq(tree), ...ofTree.map(({ number }) => number)].join(" ");
    const before = known.get(tree);
    if (before?.state === state)
      ofTree.forEach(({ record }, index) => void Object.assign(record, copyOf(before.sums[index])));
    else source.count(tree, ofTree);
    filled.set(tree, { state, sums: ofTree.map(({ record }) => copyOf(record)) });
  }
  return filled;
}

function copyOf<Given extends Sums | undefined>(given: Given): Sums | Given {
  if (given === undefined) return given;
  const fields = Object.fromEntries(END_FIELDS.map((field) => [field, given[field]]));
  const damage = given.damage === undefined ? {} : { damage: given.damage };
  return { ...(fields as Sums), usage: { ...given.usage }, ...damage };
}

const END_FIELDS = RUN_COLUMNS.filter(({ from }) => from === "run-end").map(({ field }) => field as EndField);
