/** Reads the events of a tree. A row may come from anybody: what is no event of the tree is a `StoreError`. */

import { StoreError } from "../core/errors.ts";
import type { RunIdentity, StoredEvent } from "../core/event.ts";
import { decodeEvent } from "./event-row.ts";
import { blobReader } from "./sqlite-blobs.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";
import { parseIdentity, SELECT_IDENTITY } from "./sqlite-run-row.ts";
import { LARGEST_VALUE_BYTES, LAST_SEQ } from "./sqlite-schema.ts";

/** A part of the events of a tree. */
export type EventRange = {
  /** The number of the root. */
  readonly tree: number;
  /** The first number that is wanted, and the last. */
  readonly from: number;
  readonly to: number;
  /** Only of the runs with these numbers. */
  readonly runs?: readonly number[];
  /** Only what changes the record of a run. */
  readonly isForRecords?: boolean;
};

/** In the order of their numbers; part of a transaction that is open. */
export function* eventsIn(connection: SqliteConnection, range: EventRange): Generator<StoredEvent> {
  const { tree, from, to, runs } = range;
  if (!(from <= to && to <= LAST_SEQ)) return;
  const values = runs === undefined ? [] : [JSON.stringify(runs)];
  const blob = blobReader(connection);
  const identities = new Map<number, RunIdentity>();
  let last = -1;
  for (const row of connection.prepare(sqlFor(range)).iterate(LARGEST_VALUE_BYTES, tree, from, to, ...values)) {
    const { seq, run, type, json } = row;
    // A table whose pages point at each other in a circle would never end.
    if (typeof seq !== "number" || seq <= last) throw damaged(seq, "it comes after a later one");
    if (typeof json !== "string") throw damaged(seq, "it is too large");
    if (typeof run !== "number" || typeof type !== "string") throw damaged(seq, "it has no run or no type");
    last = seq;
    let identity = identities.get(run);
    if (identity === undefined) {
      identity = identityOf(connection, run, tree, seq);
      identities.set(run, identity);
    }
    yield decodeEvent({ seq, type, json }, identity, blob);
  }
}

function sqlFor({ runs, isForRecords = false }: EventRange): string {
  return `${SELECT}${runs === undefined ? "" : OF_RUNS}${isForRecords ? FOR_RECORDS : ""} ORDER BY key`;
}

function identityOf(connection: SqliteConnection, run: number, tree: number, seq: number): RunIdentity {
  const row = connection.prepare(SELECT_IDENTITY).get(run, tree);
  if (row === undefined) throw damaged(seq, "its run is not in its tree");
  return parseIdentity(row);
}

function damaged(seq: unknown, why: string): StoreError {
  return new StoreError(`Event ${seq} is damaged in the store: ${why}`);
}

const SELECT = `SELECT key & 0xfffffff AS seq, run, type, iif(octet_length(json) > ?1, NULL, json) AS json FROM events
WHERE key BETWEEN (?2 << 28) | ?3 AND (?2 << 28) | ?4`;
const OF_RUNS = " AND run IN (SELECT value FROM json_each(?5))";
const FOR_RECORDS = " AND type IN ('message-end', 'retry', 'tool-call-start', 'run-end')";
