/** Reads the events of a tree out of the database, row by row; a row is not trusted. */

import type { RunIdentity, StoredEvent } from "../../../core/event.ts";
import { DamageError } from "../../../core/store.ts";
import { STORED_TYPES } from "../../../core/words/event-rows.ts";
import { decodeEvent } from "../event-row.ts";
import { LAST_SEQ } from "../event-schema.ts";
import type { SqliteConnection } from "./connection.ts";
import { blobReader, parseIdentity, SELECT_IDENTITY } from "./run-row.ts";
import { MAX_VALUE_BYTES } from "./schema.ts";

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

/**
 * Hears of a row that cannot be read, which is then left out. The run is the number in the row, or undefined when the rows after it
 * cannot be read either.
 */
type OnDamage = (error: DamageError, run: number | undefined) => void;

/** Reads events in the order of their numbers; part of a transaction that is open. Without `onDamage` the first damage throws. */
export function* eventsIn(
  connection: SqliteConnection,
  range: EventRange,
  onDamage?: OnDamage,
): Generator<StoredEvent> {
  const { tree, from, to, runs } = range;
  if (!(from <= to && to <= LAST_SEQ)) return;
  const values = runs === undefined ? [] : [JSON.stringify(runs)];
  const decode = decoder(connection, tree);
  let last = -1;
  for (const row of connection.prepare(sqlFor(range)).iterate(MAX_VALUE_BYTES, tree, from, to, ...values)) {
    const { seq, run } = row;
    // A table whose pages point at each other in a circle would never end.
    const isInOrder = typeof seq === "number" && seq > last;
    let event: StoredEvent | undefined;
    try {
      if (!isInOrder) throw damaged(seq, "it comes after a later one");
      last = seq;
      event = decode(row);
    } catch (error) {
      if (onDamage === undefined || !(error instanceof DamageError)) throw error;
      onDamage(error, isInOrder && typeof run === "number" ? run : undefined);
    }
    if (event !== undefined) yield event;
    if (!isInOrder) return;
  }
}

function decoder(connection: SqliteConnection, tree: number): (row: Record<string, unknown>) => StoredEvent {
  const blob = blobReader(connection);
  const identities = new Map<number, RunIdentity>();
  return ({ seq, run, type, json }) => {
    if (typeof json !== "string") throw damaged(seq, "it is too large");
    if (typeof run !== "number" || typeof type !== "string") throw damaged(seq, "it has no run or no type");
    let identity = identities.get(run);
    if (identity === undefined) {
      identity = identityOf(connection, run, tree, seq);
      identities.set(run, identity);
    }
    return decodeEvent({ seq: Number(seq), type, json }, identity, blob);
  };
}

function identityOf(connection: SqliteConnection, run: number, tree: number, seq: unknown): RunIdentity {
  const row = connection.prepare(SELECT_IDENTITY).get(run, tree);
  if (row === undefined) throw damaged(seq, "its run is not in its tree");
  return parseIdentity(row);
}

function damaged(seq: unknown, why: string): DamageError {
  return new DamageError(`Event ${seq} is damaged in the store: ${why}`);
}

function sqlFor({ runs, isForRecords = false }: EventRange): string {
  return `${SELECT}${runs === undefined ? "" : OF_RUNS}${isForRecords ? FOR_RECORDS : ""} ORDER BY key`;
}

const SELECT = `SELECT key & 0xfffffff AS seq, iif(run BETWEEN 0 AND 1 << 53, run, NULL) AS run, type,
  iif(octet_length(json) > ?1, NULL, json) AS json FROM events
WHERE key BETWEEN (?2 << 28) | ?3 AND (?2 << 28) | ?4`;
const OF_RUNS = " AND run IN (SELECT value FROM json_each(?5))";
const COUNTED: ReadonlySet<StoredEvent["type"]> = new Set(["message-end", "retry", "tool-call-start", "run-end"]);
/** Leaves out the types that are not counted, and not those that are unknown: one of these may have been counted. */
const FOR_RECORDS = ` AND type NOT IN (${STORED_TYPES.filter((type) => !COUNTED.has(type))
  .map((type) => `'${type}'`)
  .join(", ")})`;
