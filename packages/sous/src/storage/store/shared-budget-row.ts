/** The books of a shared budget as a row of a table. What comes back is checked: a wrong number must not become a limit. */

import { type Amount, UNITS } from "../../core/amount.ts";
import { StoreError } from "../../core/errors.ts";
import {
  isAwaited,
  type Liveness,
  leaveBooks,
  type SharedBudgetBooks,
  type SharedBudgetMember,
} from "../../core/shared-budget-books.ts";
import { isGone, isRunning } from "./owner.ts";

type Row = Readonly<Record<string, unknown>>;
type Value = string | number | null;

/** The columns in the order of `bookValues`; the name comes before them. */
export const BOOK_COLUMNS = ["limit_tokens", "limit_nano_usd", "limit_executions", "books"] as const;

export function bookValues({ limits, past, pastExecutions, members }: SharedBudgetBooks): Value[] {
  return [
    limits.tokens ?? null,
    limits.nanoUsd ?? null,
    limits.executions ?? null,
    JSON.stringify({ past, pastExecutions, members }),
  ];
}

export function toSharedBudgetBooks(row: Row): SharedBudgetBooks {
  const limit = (column: string) => (row[column] === null ? undefined : whole(row[column], column));
  const books = toBooks(row.books);
  if (!Array.isArray(books.members)) throw damaged("members");
  const members = books.members.map(toMember);
  if (new Set(members.map(({ id }) => id)).size < members.length) throw damaged("members");
  return {
    limits: {
      tokens: limit("limit_tokens"),
      nanoUsd: limit("limit_nano_usd"),
      executions: limit("limit_executions"),
    },
    past: toAmount(books.past, "past"),
    pastExecutions: whole(books.pastExecutions, "pastExecutions"),
    members,
  };
}

function toMember(found: unknown): SharedBudgetMember {
  const row = toRow(found, "members");
  return {
    id: text(row.id, "id"),
    owner: text(row.owner, "owner"),
    spent: toAmount(row.spent, "spent"),
    inFlight: toAmount(row.inFlight, "inFlight"),
    kept: toAmount(row.kept, "kept"),
    executions: whole(row.executions, "executions"),
    moves: flag(row.moves, "moves"),
    waiting: toWaiting(row.waiting),
    seenAt: whole(row.seenAt, "seenAt"),
    isLapsed: flag(row.isLapsed, "isLapsed"),
    lapses: whole(row.lapses, "lapses"),
  };
}

/** One that does not wait has no such field. */
function toWaiting(found: unknown): SharedBudgetMember["waiting"] {
  if (found === undefined) return undefined;
  const { since, least } = toRow(found, "waiting");
  return { ...toAmount(found, "waiting"), since: whole(since, "waiting"), least: toAmount(least, "waiting") };
}

function toAmount(found: unknown, where: string): Amount {
  const { tokens, nanoUsd } = toRow(found, where);
  return { tokens: whole(tokens, where), nanoUsd: whole(nanoUsd, where) };
}

function toBooks(json: unknown): Row {
  const found = typeof json === "string" && json.length <= MAX_BOOKS_LENGTH ? parse(json) : undefined;
  return toRow(found, "books");
}

function toRow(found: unknown, where: string): Row {
  if (typeof found === "object" && found !== null && !Array.isArray(found)) return found as Row;
  throw damaged(where);
}

function whole(found: unknown, where: string): number {
  if (typeof found === "number" && Number.isSafeInteger(found) && found >= 0) return found;
  throw damaged(where);
}

function text(found: unknown, where: string): string {
  if (typeof found === "string" && found.length <= MAX_TEXT_LENGTH) return found;
  throw damaged(where);
}

function flag(found: unknown, where: string): boolean {
  if (typeof found === "boolean") return found;
  throw damaged(where);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Enough for thousands of processes; nothing longer is read. */
const MAX_BOOKS_LENGTH = 4_000_000;
const MAX_TEXT_LENGTH = 1_000;

function damaged(where: string): StoreError {
  return new StoreError(`its row is damaged (${where}): restore a copy of the database, or use another name`);
}

/** Milliseconds for which a process counts as alive after its last step. */
const LEASE_MS = 30_000;
/** A row that no process has renewed in this time becomes the past. */
const MAX_ABSENCE_MS = 7 * 24 * 3_600_000;

/** Finds out what is known at this time about the processes of all rows but those of `ownOwner`. Looks at each process once. */
export function livenessAt(now: number, ownOwner: string): Liveness {
  const known = new Map<string, { isGone: boolean; isRunning: boolean }>();
  return ({ owner, seenAt }) => {
    if (owner === ownOwner) return "alive";
    const process = known.get(owner) ?? { isGone: isGone(owner), isRunning: isRunning(owner) };
    known.set(owner, process);
    if (process.isGone) return "gone";
    // A clock that was set back must not keep the dead alive either.
    const absence = Math.abs(now - seenAt);
    if (process.isRunning || absence <= LEASE_MS) return "alive";
    return absence > MAX_ABSENCE_MS ? "gone" : "late";
  };
}

/** True when others wait who may be served now, or have to look again who is to be refused. */
export function isNews(before: SharedBudgetBooks, after: SharedBudgetBooks, id: string): boolean {
  if (!isAwaited(after, id)) return false;
  const rows = new Map(after.members.map((member) => [member.id, member]));
  return before.members.some((member) => {
    const next = rows.get(member.id);
    return next === undefined || next.isLapsed !== member.isLapsed || hasGivenWay(member, next);
  });
}

function hasGivenWay(before: SharedBudgetMember, after: SharedBudgetMember): boolean {
  if (isLess(after.inFlight, before.inFlight) || isLess(after.kept, before.kept)) return true;
  if (isLess(after.spent, before.spent) || (before.moves && !after.moves)) return true;
  const { waiting } = before;
  if (waiting === undefined) return false;
  return after.waiting?.since !== waiting.since || isLess(after.waiting, waiting);
}

function isLess(one: Amount, other: Amount): boolean {
  return UNITS.some((unit) => one[unit] < other[unit]);
}

export function hasOwner({ members }: SharedBudgetBooks, owner: string): boolean {
  return members.some((member) => member.owner === owner);
}

/** A store that is closed takes its rows out of the books. */
export function withoutOwner(books: SharedBudgetBooks, owner: string): SharedBudgetBooks {
  const own = books.members.filter((member) => member.owner === owner);
  return own.reduce((next, { id }) => leaveBooks(next, id), books);
}
