/** The books of a shared budget as a row of a table, for every database alike. What comes back is checked: a wrong number is no limit. */

import { StoreError } from "../core/errors.ts";
import type { Purse, PurseWaiter } from "../core/purse.ts";
import type { LeaseRow } from "./shared-budget.ts";

type Row = Readonly<Record<string, unknown>>;
type Value = string | number | null;

/** In the order of `purseValues`; the name comes before them. */
export const PURSE_COLUMNS = [
  "limit_tokens",
  "limit_nano_usd",
  "limit_executions",
  "spent_tokens",
  "spent_nano_usd",
  "in_flight_tokens",
  "in_flight_nano_usd",
  "kept_tokens",
  "kept_nano_usd",
  "executions",
  "waiting",
] as const;

/** In the order of `leaseValues`; when it ends comes after them. */
export const LEASE_COLUMNS = ["id", "owner", "kind", "tokens", "nano_usd", "is_lapsed"] as const;

export function purseValues({ limits, spent, inFlight, kept, executions, waiting }: Purse): Value[] {
  return [
    limits.tokens ?? null,
    limits.nanoUsd ?? null,
    limits.executions ?? null,
    ...[spent, inFlight, kept].flatMap(({ tokens, nanoUsd }) => [tokens, nanoUsd]),
    executions,
    JSON.stringify(waiting.map(({ place, seenAt, tokens, nanoUsd }) => [place, seenAt, tokens, nanoUsd])),
  ];
}

export function toPurse(row: Row): Purse {
  const limit = (column: string) => (row[column] === null ? undefined : count(row, column));
  const amount = (kind: string) => ({ tokens: count(row, `${kind}_tokens`), nanoUsd: count(row, `${kind}_nano_usd`) });
  return {
    limits: {
      tokens: limit("limit_tokens"),
      nanoUsd: limit("limit_nano_usd"),
      executions: limit("limit_executions"),
    },
    spent: amount("spent"),
    inFlight: amount("in_flight"),
    kept: amount("kept"),
    executions: count(row, "executions"),
    waiting: toWaiting(row.waiting),
  };
}

export function leaseValues({ id, owner, kind, tokens, nanoUsd, isLapsed }: LeaseRow): Value[] {
  return [id, owner, kind, tokens, nanoUsd, isLapsed ? 1 : 0];
}

export function toLease(row: Row): LeaseRow {
  const { id, owner, kind } = row;
  if (typeof id !== "string" || typeof owner !== "string" || (kind !== "call" && kind !== "last-words"))
    throw damaged("purse_leases");
  const isLapsed = count(row, "is_lapsed") !== 0;
  return { id, owner, kind, tokens: count(row, "tokens"), nanoUsd: count(row, "nano_usd"), isLapsed };
}

function count(row: Row, column: string): number {
  return whole(row[column], column);
}

function whole(found: unknown, column: string): number {
  if (typeof found === "number" && Number.isSafeInteger(found) && found >= 0) return found;
  throw damaged(column);
}

function toWaiting(json: unknown): PurseWaiter[] {
  const found: unknown = typeof json === "string" && json.length < LONGEST_LINE ? parse(json) : undefined;
  if (!Array.isArray(found)) throw damaged("waiting");
  return found.map((each: unknown) => {
    const [place, seenAt, tokens, nanoUsd] = Array.isArray(each) ? each : [];
    if (typeof place !== "string" || typeof seenAt !== "number") throw damaged("waiting");
    return { place, seenAt, tokens: whole(tokens, "waiting"), nanoUsd: whole(nanoUsd, "waiting") };
  });
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** One waiter for each process: nobody has so many. */
const LONGEST_LINE = 1_000_000;

function damaged(where: string): StoreError {
  return new StoreError(`its row is damaged (${where}): put a copy of the database in its place, or use another name`);
}
