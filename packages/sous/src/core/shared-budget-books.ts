/**
 * The books of a shared budget as pure arithmetic: what one step of one process does to them. A store loads the books, lets
 * `stepInPurse` make new ones and keeps those, all in one transaction.
 *
 * Every process has one row: what it has spent, holds and keeps in all, so a step can be repeated without counting twice.
 */

import { type Amount, type Need, NO_AMOUNT, plus, UNITS } from "./amount.ts";
import { answerOf, awaitedBy, fullNeed, leastNeed, withGranted } from "./purse-answer.ts";

/** Undefined = unlimited. */
export type PurseLimits = {
  readonly tokens: number | undefined;
  readonly nanoUsd: number | undefined;
  readonly executions: number | undefined;
};

/** What a process has taken, all told. */
export type PurseShare = {
  readonly spent: Amount;
  /** Reserved by calls: comes back, at least in part, when they end. */
  readonly inFlight: Amount;
  /** Reserved for last words. */
  readonly kept: Amount;
  /** Children that have started or wait to start. */
  readonly executions: number;
};

type Waiting = Amount & {
  readonly since: number;
  /** With this much it can be served as soon as nothing is in flight and no run is before it. */
  readonly least: Amount;
};

/** The row of one process. */
export type PurseMember = PurseShare & {
  readonly id: string;
  /** The process, in words that other processes can check. */
  readonly owner: string;
  /** Whether any of its runs moves: then what others wait for may yet come back. */
  readonly moves: boolean;
  /** Since when it waits, and for how much: the full need of its first. Undefined when it does not wait. */
  readonly waiting: Waiting | undefined;
  readonly seenAt: number;
  /** Not heard of for too long: what its calls hold counts as spent, and it keeps nothing. */
  readonly isLapsed: boolean;
  /** How often that was found. */
  readonly lapses: number;
};

export type Purse = {
  readonly limits: PurseLimits;
  /** What was spent by processes that have no row any more. */
  readonly past: Amount;
  readonly pastExecutions: number;
  readonly members: readonly PurseMember[];
};

/** What one call asks for. */
export type PurseAsk = {
  readonly need: Need;
  /** What the reserve of its run grows by. */
  readonly grow: Amount;
  /** The reserve that this call spends: it ends in the same step. */
  readonly instead: Amount;
  /** What the runs above it keep: that cannot come back before this one has ended. */
  readonly above: Amount;
  /** When it was first told to wait. */
  readonly since: number | undefined;
};

export type PurseStep = {
  readonly id: string;
  readonly owner: string;
  readonly now: number;
  /** What it has taken, without what it asks for now. */
  readonly share: PurseShare;
  /** How many children it wants to start. */
  readonly starts: number;
  /** In the order in which they are to be served. */
  readonly asks: readonly PurseAsk[];
  readonly moves: boolean;
  /** Its run that settled last has taken its next step: the first call may have less than all it asks for. */
  readonly mayLower: boolean;
  /** How often it was told that it had been taken for dead: an answer that got lost is given again. */
  readonly lapses: number;
};

export type PurseAnswer = { readonly kind: "granted"; readonly output: number } | { readonly kind: "wait" | "never" };

export type PurseReply = {
  /** How many children may start. */
  readonly starts: number;
  /** One for each ask. `never`: it could not be paid even if everything came back that can. */
  readonly answers: readonly PurseAnswer[];
  /** Nothing moves anywhere, and this process came last: it has to refuse the last of its own. */
  readonly mustRefuse: boolean;
  /** It was taken for dead since it was last told: what it kept is gone. */
  readonly wasLapsed: boolean;
  /** How often, so far. */
  readonly lapses: number;
  /** The position in the queue of an ask that was told to wait for the first time. */
  readonly since: number;
  /** What the books now say about this process. */
  readonly share: PurseShare;
  readonly state: PurseState;
};

/** The books as all users may read them. */
export type PurseState = {
  readonly limits: PurseLimits;
  readonly spent: Amount;
  readonly reserved: Amount;
  readonly executions: number;
};

/** What is known about the process of another row. `gone` for certain, or `late` and not seen running. */
export type Liveness = (member: PurseMember) => "alive" | "late" | "gone";

export function emptyPurse(limits: PurseLimits): Purse {
  return { limits, past: NO_AMOUNT, pastExecutions: 0, members: [] };
}

/** One step of one process: its share is written down, then its asks are answered in their order. */
export function stepInPurse(purse: Purse, step: PurseStep): { purse: Purse; reply: PurseReply } {
  const before = purse.members.find(({ id }) => id === step.id);
  const lapses = before?.lapses ?? step.lapses;
  const wasLapsed = lapses > step.lapses;
  const others = purse.members.filter(({ id }) => id !== step.id);
  let share: PurseShare = wasLapsed ? { ...step.share, kept: NO_AMOUNT } : step.share;
  const starts = startsAllowed(purse, others, share, step.starts);
  share = { ...share, executions: share.executions + starts };
  const arrival = arrivalOf(step, others);
  const positions = positionsOf(step, arrival);
  const line = others.filter(isInLine).sort(byPosition);
  const answers: PurseAnswer[] = [];
  /** Those before the next ask: other processes, and earlier asks of this one. */
  const earlier: Amount[] = [];
  let first: Waiting | undefined;
  let ahead = 0;
  let awaited = NO_AMOUNT;
  let counted = 0;
  for (const [index, ask] of step.asks.entries()) {
    const since = positions[index] ?? arrival;
    for (let other = line[ahead]; other?.waiting && isAhead(other, since, step.id); other = line[ahead]) {
      earlier.push(other.waiting);
      ahead += 1;
    }
    const room = { ...purse, members: [...others, memberOf(step, share, lapses)] };
    const state = stateOf(room);
    awaited = awaitedBy(state, earlier.slice(counted), awaited);
    counted = earlier.length;
    const mayLower = step.mayLower && earlier.length === 0 && nothingInFlight(room);
    const answer = answerOf(state, ask, { awaited, mayLower, isVoid: wasLapsed });
    answers.push(answer);
    if (answer.kind === "wait") {
      first ??= { ...fullNeed(ask), since, least: step.mayLower ? leastNeed(ask) : fullNeed(ask) };
      earlier.push(fullNeed(ask));
    } else if (answer.kind === "granted") {
      share = withGranted(share, ask, answer.output, wasLapsed);
      // Less is free now: those before may be short of more.
      awaited = NO_AMOUNT;
      counted = 0;
    }
  }
  const own: PurseMember = { ...memberOf(step, share, lapses), moves: step.moves, waiting: first };
  const next = { ...purse, members: [...others, own] };
  const mustRefuse = first !== undefined && nothingMoves(next) && isLastOfStuck(next, step.id);
  return {
    purse: next,
    reply: { starts, answers, mustRefuse, wasLapsed, lapses, since: arrival, share, state: stateOf(next) },
  };
}

/** Rows of processes that are gone become the past; of those that are only late, what their calls hold counts as spent. */
export function lapseInPurse(purse: Purse, livenessOf: Liveness): Purse {
  let next = purse;
  for (const member of purse.members) {
    const liveness = livenessOf(member);
    if (liveness === "gone") next = leavePurse(next, member.id);
    else if (liveness === "late" && !member.isLapsed) {
      next = withMember(next, { ...member, isLapsed: true, lapses: member.lapses + 1 });
    }
  }
  return next;
}

/** The process has ended. What its calls held may have been spent; what it kept was not. */
export function leavePurse(purse: Purse, id: string): Purse {
  const member = purse.members.find((each) => each.id === id);
  if (member === undefined) return purse;
  return {
    ...purse,
    past: plus(purse.past, plus(member.spent, member.inFlight)),
    pastExecutions: purse.pastExecutions + member.executions,
    members: purse.members.filter((each) => each !== member),
  };
}

export function stateOf({ limits, past, pastExecutions, members }: Purse): PurseState {
  let spent = past;
  let reserved = NO_AMOUNT;
  let executions = pastExecutions;
  for (const member of members) {
    spent = plus(spent, member.isLapsed ? plus(member.spent, member.inFlight) : member.spent);
    if (!member.isLapsed) reserved = plus(reserved, plus(member.inFlight, member.kept));
    executions += member.executions;
  }
  return { limits, spent, reserved, executions };
}

/** True when another process waits, and would like to know that something has changed. */
export function isAwaited({ members }: Purse, id: string): boolean {
  return members.some((member) => member.id !== id && isInLine(member));
}

/** After all runs that wait already, whatever the clocks of two machines say. */
function arrivalOf({ now }: PurseStep, others: readonly PurseMember[]): number {
  return Math.max(now, ...others.map(({ waiting, isLapsed }) => (isLapsed ? 0 : (waiting?.since ?? -1) + 1)));
}

/** Since when each ask has its position. One that is served before others of its process has theirs, if they came earlier. */
function positionsOf({ asks }: PurseStep, arrival: number): number[] {
  let earliest = arrival;
  return asks
    .map((_, index) => {
      const { since = arrival } = asks[asks.length - 1 - index] ?? {};
      earliest = Math.min(earliest, since);
      return earliest;
    })
    .reverse();
}

function startsAllowed(purse: Purse, others: readonly PurseMember[], share: PurseShare, wanted: number): number {
  const { executions: limit } = purse.limits;
  if (limit === undefined) return wanted;
  const started = others.reduce((sum, other) => sum + other.executions, purse.pastExecutions + share.executions);
  return Math.max(0, Math.min(wanted, limit - started));
}

function isInLine({ waiting, isLapsed }: PurseMember): boolean {
  return waiting !== undefined && !isLapsed;
}

function isAhead({ waiting, id }: PurseMember, since: number, own: string): boolean {
  return waiting !== undefined && (waiting.since < since || (waiting.since === since && id < own));
}

function nothingInFlight({ members }: Purse): boolean {
  return members.every(({ isLapsed, inFlight }) => isLapsed || (inFlight.tokens === 0 && inFlight.nanoUsd === 0));
}

function nothingMoves(purse: Purse): boolean {
  return nothingInFlight(purse) && purse.members.every(({ isLapsed, moves }) => isLapsed || !moves);
}

/** True when this process is the last in the queue, and the first cannot be served. One that can has only not asked again yet. */
function isLastOfStuck(purse: Purse, id: string): boolean {
  const line = purse.members.filter(isInLine).sort(byPosition);
  const [first] = line;
  return line.at(-1)?.id === id && (first?.id === id || !canBeServed(purse, first?.waiting?.least ?? NO_AMOUNT));
}

function canBeServed(purse: Purse, least: Amount): boolean {
  const { limits, spent, reserved } = stateOf(purse);
  return UNITS.every((unit) => {
    const limit = limits[unit];
    return limit === undefined || least[unit] <= limit - spent[unit] - reserved[unit];
  });
}

function byPosition(one: PurseMember, other: PurseMember): number {
  const between = (one.waiting?.since ?? 0) - (other.waiting?.since ?? 0);
  return between || (one.id < other.id ? -1 : 1);
}

function memberOf({ id, owner, now }: PurseStep, share: PurseShare, lapses: number): PurseMember {
  return { id, owner, ...share, moves: true, waiting: undefined, seenAt: now, isLapsed: false, lapses };
}

function withMember(purse: Purse, changed: PurseMember): Purse {
  return { ...purse, members: purse.members.map((each) => (each.id === changed.id ? changed : each)) };
}
