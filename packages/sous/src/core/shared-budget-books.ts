/**
 * The books of a shared budget as pure arithmetic: what one step of one process does to them. A store loads the books, lets
 * `stepInBooks` make new ones and keeps those, all in one transaction.
 *
 * Every process has one row: what it has spent, holds and keeps in all, so a step can be repeated without counting twice.
 */

import { type Amount, type Need, NO_AMOUNT, plus, UNITS } from "./amount.ts";
import { answerOf, awaitedBy, fullNeed, leastNeed, withGranted } from "./shared-budget-answer.ts";

/** Undefined = unlimited. */
export type SharedBudgetLimits = {
  readonly tokens: number | undefined;
  readonly nanoUsd: number | undefined;
  readonly executions: number | undefined;
};

/** The amounts that a process has taken, all told. */
export type SharedBudgetShare = {
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
  /** The amounts with which it can be served as soon as nothing is in flight and no run is before it. */
  readonly least: Amount;
};

/** The row of one process. */
export type SharedBudgetMember = SharedBudgetShare & {
  readonly id: string;
  /** The process, in words that other processes can check. */
  readonly owner: string;
  /** True while any of its runs moves: then what others wait for may yet come back. */
  readonly moves: boolean;
  /** The time since which it waits, and the amount: the full need of its first. Undefined when it does not wait. */
  readonly waiting: Waiting | undefined;
  readonly seenAt: number;
  /** True when it was not heard of for too long: what its calls hold counts as spent, and it keeps nothing. */
  readonly isLapsed: boolean;
  /** The number of times that this was found. */
  readonly lapses: number;
};

export type SharedBudgetBooks = {
  readonly limits: SharedBudgetLimits;
  /** The spending of processes that have no row any more. */
  readonly past: Amount;
  readonly pastExecutions: number;
  readonly members: readonly SharedBudgetMember[];
};

/** The request of one call. */
export type SharedBudgetAsk = {
  readonly need: Need;
  /** The growth of the reserve of its run. */
  readonly grow: Amount;
  /** The reserve that this call spends: it ends in the same step. */
  readonly instead: Amount;
  /** The reserves of the runs above it: that cannot come back before this one has ended. */
  readonly above: Amount;
  /** The time when it was first told to wait. */
  readonly since: number | undefined;
};

export type SharedBudgetStep = {
  readonly id: string;
  readonly owner: string;
  readonly now: number;
  /** The amounts it has taken, without what it asks for now. */
  readonly share: SharedBudgetShare;
  /** The number of children it wants to start. */
  readonly starts: number;
  /** The asks in the order in which they are to be served. */
  readonly asks: readonly SharedBudgetAsk[];
  readonly moves: boolean;
  /** The run of this process that settled last has taken its next step: the first call may have less than all it asks for. */
  readonly mayLower: boolean;
  /** The number of times it was told that it had been taken for dead: an answer that got lost is given again. */
  readonly lapses: number;
};

export type SharedBudgetAnswer =
  | { readonly kind: "granted"; readonly output: number }
  | { readonly kind: "wait" | "never" };

export type SharedBudgetReply = {
  /** The number of children that may start. */
  readonly starts: number;
  /** One for each ask. `never`: it could not be paid even if everything came back that can. */
  readonly answers: readonly SharedBudgetAnswer[];
  /** Nothing moves anywhere, and this process came last: it has to refuse the last of its own. */
  readonly mustRefuse: boolean;
  /** It was taken for dead since it was last told: what it kept is gone. */
  readonly wasLapsed: boolean;
  /** The number of times so far. */
  readonly lapses: number;
  /** The position in the queue of an ask that was told to wait for the first time. */
  readonly since: number;
  /** The share of this process as the books now have it. */
  readonly share: SharedBudgetShare;
  readonly state: SharedBudgetState;
};

/** The books as all users may read them. */
export type SharedBudgetState = {
  readonly limits: SharedBudgetLimits;
  readonly spent: Amount;
  readonly reserved: Amount;
  readonly executions: number;
};

/** The state of the process of another row. `gone` for certain, or `late` and not seen running. */
export type Liveness = (member: SharedBudgetMember) => "alive" | "late" | "gone";

export function emptyBooks(limits: SharedBudgetLimits): SharedBudgetBooks {
  return { limits, past: NO_AMOUNT, pastExecutions: 0, members: [] };
}

/** One step of one process: its share is written down, then its asks are answered in their order. */
export function stepInBooks(
  books: SharedBudgetBooks,
  step: SharedBudgetStep,
): { books: SharedBudgetBooks; reply: SharedBudgetReply } {
  const before = books.members.find(({ id }) => id === step.id);
  const lapses = before?.lapses ?? step.lapses;
  const wasLapsed = lapses > step.lapses;
  const others = books.members.filter(({ id }) => id !== step.id);
  let share: SharedBudgetShare = wasLapsed ? { ...step.share, kept: NO_AMOUNT } : step.share;
  const starts = startsAllowed(books, others, share, step.starts);
  share = { ...share, executions: share.executions + starts };
  const arrival = arrivalOf(step, others);
  const positions = positionsOf(step, arrival);
  const line = others.filter(isInLine).sort(byPosition);
  const answers: SharedBudgetAnswer[] = [];
  /** The amounts before the next ask: of other processes, and of earlier asks of this one. */
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
    const room = { ...books, members: [...others, memberOf(step, share, lapses)] };
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
  const own: SharedBudgetMember = { ...memberOf(step, share, lapses), moves: step.moves, waiting: first };
  const next = { ...books, members: [...others, own] };
  const mustRefuse = first !== undefined && nothingMoves(next) && isLastOfStuck(next, step.id);
  return {
    books: next,
    reply: { starts, answers, mustRefuse, wasLapsed, lapses, since: arrival, share, state: stateOf(next) },
  };
}

/** Rows of processes that are gone become the past; of those that are only late, what their calls hold counts as spent. */
export function lapseInBooks(books: SharedBudgetBooks, livenessOf: Liveness): SharedBudgetBooks {
  let next = books;
  for (const member of books.members) {
    const liveness = livenessOf(member);
    if (liveness === "gone") next = leaveBooks(next, member.id);
    else if (liveness === "late" && !member.isLapsed) {
      next = withMember(next, { ...member, isLapsed: true, lapses: member.lapses + 1 });
    }
  }
  return next;
}

/** The process has ended. What its calls held may have been spent; what it kept was not. */
export function leaveBooks(books: SharedBudgetBooks, id: string): SharedBudgetBooks {
  const member = books.members.find((each) => each.id === id);
  if (member === undefined) return books;
  return {
    ...books,
    past: plus(books.past, plus(member.spent, member.inFlight)),
    pastExecutions: books.pastExecutions + member.executions,
    members: books.members.filter((each) => each !== member),
  };
}

export function stateOf({ limits, past, pastExecutions, members }: SharedBudgetBooks): SharedBudgetState {
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
export function isAwaited({ members }: SharedBudgetBooks, id: string): boolean {
  return members.some((member) => member.id !== id && isInLine(member));
}

/** The time of an arrival: after all runs that wait already, whatever the clocks of two machines say. */
function arrivalOf({ now }: SharedBudgetStep, others: readonly SharedBudgetMember[]): number {
  return Math.max(now, ...others.map(({ waiting, isLapsed }) => (isLapsed ? 0 : (waiting?.since ?? -1) + 1)));
}

/**
 * The time since which each ask has its position. One that is served before others of its process has theirs, if they came
 * earlier.
 */
function positionsOf({ asks }: SharedBudgetStep, arrival: number): number[] {
  let earliest = arrival;
  return asks
    .map((_, index) => {
      const { since = arrival } = asks[asks.length - 1 - index] ?? {};
      earliest = Math.min(earliest, since);
      return earliest;
    })
    .reverse();
}

function startsAllowed(
  books: SharedBudgetBooks,
  others: readonly SharedBudgetMember[],
  share: SharedBudgetShare,
  wanted: number,
): number {
  const { executions: limit } = books.limits;
  if (limit === undefined) return wanted;
  const started = others.reduce((sum, other) => sum + other.executions, books.pastExecutions + share.executions);
  return Math.max(0, Math.min(wanted, limit - started));
}

function isInLine({ waiting, isLapsed }: SharedBudgetMember): boolean {
  return waiting !== undefined && !isLapsed;
}

function isAhead({ waiting, id }: SharedBudgetMember, since: number, own: string): boolean {
  return waiting !== undefined && (waiting.since < since || (waiting.since === since && id < own));
}

function nothingInFlight({ members }: SharedBudgetBooks): boolean {
  return members.every(({ isLapsed, inFlight }) => isLapsed || (inFlight.tokens === 0 && inFlight.nanoUsd === 0));
}

function nothingMoves(books: SharedBudgetBooks): boolean {
  return nothingInFlight(books) && books.members.every(({ isLapsed, moves }) => isLapsed || !moves);
}

/** True when this process is the last in the queue, and the first cannot be served. One that can has only not asked again yet. */
function isLastOfStuck(books: SharedBudgetBooks, id: string): boolean {
  const line = books.members.filter(isInLine).sort(byPosition);
  const [first] = line;
  return line.at(-1)?.id === id && (first?.id === id || !canBeServed(books, first?.waiting?.least ?? NO_AMOUNT));
}

function canBeServed(books: SharedBudgetBooks, least: Amount): boolean {
  const { limits, spent, reserved } = stateOf(books);
  return UNITS.every((unit) => {
    const limit = limits[unit];
    return limit === undefined || least[unit] <= limit - spent[unit] - reserved[unit];
  });
}

function byPosition(one: SharedBudgetMember, other: SharedBudgetMember): number {
  const between = (one.waiting?.since ?? 0) - (other.waiting?.since ?? 0);
  return between || (one.id < other.id ? -1 : 1);
}

function memberOf({ id, owner, now }: SharedBudgetStep, share: SharedBudgetShare, lapses: number): SharedBudgetMember {
  return { id, owner, ...share, moves: true, waiting: undefined, seenAt: now, isLapsed: false, lapses };
}

function withMember(books: SharedBudgetBooks, changed: SharedBudgetMember): SharedBudgetBooks {
  return { ...books, members: books.members.map((each) => (each.id === changed.id ? changed : each)) };
}
