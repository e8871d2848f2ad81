/** The rows of processes in the books of a shared budget: which of them are dead, and what others should hear of. */

import { type Amount, UNITS } from "../core/amount.ts";
import { isAwaited, type Liveness, leavePurse, type Purse, type PurseMember } from "../core/purse.ts";
import { isGone, isRunning } from "./owner.ts";

/** How long a process counts as alive after its last step. */
const LEASE_MS = 30_000;
/** A row that nobody has come back for in this time becomes the past. */
const LONGEST_ABSENCE_MS = 7 * 24 * 3_600_000;

/** What is known at this time about the processes of all rows but those of `ownOwner`. Looks at each process once. */
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
    return absence > LONGEST_ABSENCE_MS ? "gone" : "late";
  };
}

/** True when others wait who may be served now, or have to look again who is to be refused. */
export function isNews(before: Purse, after: Purse, id: string): boolean {
  if (!isAwaited(after, id)) return false;
  const rows = new Map(after.members.map((member) => [member.id, member]));
  return before.members.some((member) => {
    const next = rows.get(member.id);
    return next === undefined || next.isLapsed !== member.isLapsed || hasGivenWay(member, next);
  });
}

function hasGivenWay(before: PurseMember, after: PurseMember): boolean {
  if (isLess(after.inFlight, before.inFlight) || isLess(after.kept, before.kept)) return true;
  if (isLess(after.spent, before.spent) || (before.moves && !after.moves)) return true;
  const { waiting } = before;
  if (waiting === undefined) return false;
  return after.waiting?.since !== waiting.since || isLess(after.waiting, waiting);
}

function isLess(one: Amount, other: Amount): boolean {
  return UNITS.some((unit) => one[unit] < other[unit]);
}

export function hasOwner({ members }: Purse, owner: string): boolean {
  return members.some((member) => member.owner === owner);
}

/** A store that is closed takes its rows out of the books. */
export function withoutOwner(purse: Purse, owner: string): Purse {
  const own = purse.members.filter((member) => member.owner === owner);
  return own.reduce((next, { id }) => leavePurse(next, id), purse);
}
