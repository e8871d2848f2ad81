/** Answers questions about the runs of a database. */

import type { SQLInputValue } from "node:sqlite";
import type { StoredEvent } from "../core/event.ts";
import { addToRunRecord } from "../core/run-record.ts";
import type { ReadOptions, RunQuery, RunRecord } from "../core/store.ts";
import { toColumn } from "./column-text.ts";
import { blobReader } from "./sqlite-blobs.ts";
import type { SqliteClaims } from "./sqlite-claims.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";
import { type EventRange, eventsIn } from "./sqlite-events.ts";
import { listQuery, SELECT_CHILDREN, SELECT_RUN, SELECT_TREE } from "./sqlite-queries.ts";
import { parseRunRow, type RunRow } from "./sqlite-run-row.ts";
import { LAST_SEQ } from "./sqlite-schema.ts";

export class SqliteReader {
  readonly #connection: SqliteConnection;
  readonly #claims: SqliteClaims;

  constructor(connection: SqliteConnection, claims: SqliteClaims) {
    this.#connection = connection;
    this.#claims = claims;
  }

  read(rootId: string, options: ReadOptions): StoredEvent[] {
    return this.#connection.read(() => {
      const range = this.#range(rootId, options);
      const limit = options.limit ?? Number.POSITIVE_INFINITY;
      return range === undefined ? [] : eventsIn(this.#connection, range).take(Math.max(0, limit)).toArray();
    });
  }

  run(runId: string): RunRecord | undefined {
    return this.#connection.read(() => this.#records(this.#rows(SELECT_RUN, toColumn(runId))))[0];
  }

  list(query: RunQuery): RunRecord[] {
    return this.#connection.read(() => {
      const { limit = Number.POSITIVE_INFINITY, offset = 0 } = query;
      const { sql, values } = listQuery(query, () => this.#claims.treesAtWork());
      const most = Number.isFinite(limit) ? Math.max(0, Math.trunc(limit)) : -1;
      return this.#records(this.#rows(sql, ...values, most, Math.trunc(offset)));
    });
  }

  children(runId: string): RunRecord[] {
    return this.#connection.read(() => this.#records(this.#rows(SELECT_CHILDREN, toColumn(runId))));
  }

  tree(rootId: string): RunRecord[] {
    return this.#connection.read(() => {
      const runs = this.#rows(SELECT_TREE, toColumn(rootId));
      return this.#records(runs.sort((left, right) => left.number - right.number));
    });
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

  #rows(sql: string, ...values: SQLInputValue[]): RunRow[] {
    const blob = blobReader(this.#connection);
    const rows = this.#connection.prepare(sql).all(...values);
    return rows.map((row) => parseRunRow(row, blob));
  }

  #records(runs: readonly RunRow[]): RunRecord[] {
    const unfinished = Map.groupBy(runs, ({ tree, record }) => (record.status === "running" ? tree : undefined));
    for (const [tree, open] of unfinished) if (tree !== undefined) this.#fold(tree, open);
    return runs.map(({ record }) => record);
  }

  /** Their rows are as old as their beginning: what has happened since is in the events, which are walked through once. */
  #fold(tree: number, runs: readonly RunRow[]): void {
    const records = new Map(runs.map(({ record }) => [record.id, record]));
    const from = runs.reduce((first, { firstSeq }) => Math.min(first, firstSeq), LAST_SEQ) + 1;
    const range = { tree, from, to: LAST_SEQ, runs: runs.map(({ number }) => number), isForRecords: true };
    for (const event of eventsIn(this.#connection, range)) {
      const record = records.get(event.runId);
      if (record !== undefined) addToRunRecord(record, event);
    }
    if (this.#claims.isTreeAtWork(tree)) return;
    for (const record of records.values()) if (record.status === "running") record.status = "interrupted";
  }
}

const FIND_REACH = "SELECT number, first_seq, last_seq FROM runs WHERE id = ? AND root = ?";
