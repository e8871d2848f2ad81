/**
 * The books of a shared budget as pure arithmetic: what each step does to them. A store loads them, lets one of these
 * functions change them and keeps them, all in one transaction. Money is counted in whole nano-dollars.
 */

import { BudgetExceeded } from "./errors.ts";

export type PurseAmount = { readonly tokens: number; readonly nanoUsd: number };

/** Undefined = unlimited. */
export type PurseLimits = {
  readonly tokens: number | undefined;
  readonly nanoUsd: number | undefined;
  readonly executions: number | undefined;
};

/** Somebody who waits for at least this much, and when it was last heard of. */
export type PurseWaiter = PurseAmount & { readonly place: string; readonly seenAt: number };

/** A loaded copy; the functions below change it in place. */
export type Purse = {
  limits: PurseLimits;
  /** Gone for good. Holds also what was reserved by processes that died. */
  spent: PurseAmount;
  /** Reserved by calls: comes back, at least in part, when they end. */
  inFlight: PurseAmount;
  /** Reserved for last words: not to be waited for. */
  kept: PurseAmount;
  /** Children that have started. */
  executions: number;
  /** First come, first served: what those who came earlier wait for is not given to others. */
  waiting: readonly PurseWaiter[];
};

export type PurseLeaseKind = "call" | "last-words";

/** One reservation. A lapsed one is counted as spent, because its owner seems to be dead. */
export type PurseLease = PurseAmount & { readonly kind: PurseLeaseKind; readonly isLapsed: boolean };

/** An amount that grows with the output: `prompt` and so many times `perToken`, between `least` and `most`. */
export type PurseNeed = {
  readonly prompt: PurseAmount;
  readonly perToken: PurseAmount;
  readonly least: number;
  readonly most: number;
};

export type PurseRequest = {
  readonly kind: PurseLeaseKind;
  readonly need: PurseNeed;
  /** A reservation that this one takes the place of: it counts as given back. */
  readonly instead: PurseLease | undefined;
  /** Where it stands in the line. Last words do not wait, and are not held up by those who do. */
  readonly place: string | undefined;
  readonly now: number;
};

export type PurseAnswer =
  | { readonly kind: "granted"; readonly lease: PurseLease; readonly output: number }
  /** Calls in flight could still release enough. */
  | { readonly kind: "wait" }
  | { readonly kind: "refused"; readonly error: BudgetExceeded };

export const NO_AMOUNT: PurseAmount = Object.freeze({ tokens: 0, nanoUsd: 0 });

/** Whoever was not heard of for so long has left the line without saying so. Longer than any pause between two tries. */
export const WAITER_PATIENCE_MS = 5_000;

export function emptyPurse(limits: PurseLimits): Purse {
  return { limits, spent: NO_AMOUNT, inFlight: NO_AMOUNT, kept: NO_AMOUNT, executions: 0, waiting: [] };
}

/** Takes as much as there is between the two bounds. When it does not grant, only the line has changed. */
export function takeFromPurse(purse: Purse, request: PurseRequest): PurseAnswer {
  const { need, kind, instead, place, now } = request;
  const before = { inFlight: purse.inFlight, kept: purse.kept, spent: purse.spent };
  if (instead !== undefined) settleInPurse(purse, instead, NO_AMOUNT);
  const error = shortage(purse, need, "reachable");
  const ahead =
    place === undefined ? NO_AMOUNT : stepForward(purse, place, now, error === undefined ? need : undefined);
  const output = error === undefined ? affordable(purse, need, ahead) : -1;
  if (output >= need.least) {
    const lease = { ...amountAt(need, output), kind, isLapsed: false };
    add(purse, columnOf(lease), lease, 1);
    if (place !== undefined) leavePurseLine(purse, place);
    return { kind: "granted", lease, output: isUnlimited(purse) ? Number.POSITIVE_INFINITY : output };
  }
  const refusal = error ?? (place === undefined ? shortage(purse, need, "free") : undefined);
  Object.assign(purse, before);
  return refusal === undefined ? { kind: "wait" } : { kind: "refused", error: refusal };
}

/** Ends a reservation: its amount is free again, and what was really spent is gone. More than was reserved counts in full. */
export function settleInPurse(purse: Purse, lease: PurseLease, spent: PurseAmount): void {
  add(purse, columnOf(lease), lease, -1);
  const tokens = wholeUnits(spent.tokens, lease.tokens);
  add(purse, "spent", { tokens, nanoUsd: wholeUnits(spent.nanoUsd, lease.nanoUsd) }, 1);
}

/** Counts a reservation as spent. If its owner turns up after all, settling puts it right. */
export function lapseInPurse(purse: Purse, lease: PurseLease): PurseLease {
  const lapsed = { ...lease, isLapsed: true };
  add(purse, columnOf(lease), lease, -1);
  add(purse, columnOf(lapsed), lapsed, 1);
  return lapsed;
}

/** Counts one child, or says why not. */
export function startInPurse(purse: Purse): BudgetExceeded | undefined {
  const { executions: limit } = purse.limits;
  if (limit !== undefined && purse.executions >= limit)
    return new BudgetExceeded("executions", purse.executions, limit);
  purse.executions += 1;
  return undefined;
}

export function leavePurseLine(purse: Purse, place: string): void {
  purse.waiting = purse.waiting.filter((waiter) => waiter.place !== place);
}

/** The most output that `available` pays for after the prompt; negative when it does not even pay for that. */
export function outputThatFits(available: number, forPrompt: number, perToken: number): number {
  if (perToken > 0) return Math.floor((available - forPrompt) / perToken);
  // What costs nothing is had even when the money is spent: of an unknown price only the tokens are enforced.
  return forPrompt === 0 || forPrompt <= available ? Number.POSITIVE_INFINITY : -1;
}

const UNITS = ["tokens", "nanoUsd"] as const;

/**
 * What those need at least who came earlier and still wait. Whoever has a place keeps it by asking; not every try must be
 * written down. Without a need it leaves the line.
 */
function stepForward(purse: Purse, place: string, now: number, need: PurseNeed | undefined): PurseAmount {
  // A clock that was set back must not make those immortal who were seen in what is now the future.
  const living = purse.waiting.filter(
    (waiter) => waiter.place === place || Math.abs(now - waiter.seenAt) <= WAITER_PATIENCE_MS,
  );
  const own = living.findIndex((waiter) => waiter.place === place);
  const isFresh = Math.abs(now - (living[own]?.seenAt ?? Number.NEGATIVE_INFINITY)) < WAITER_PATIENCE_MS / 4;
  const seen = need === undefined ? undefined : { place, seenAt: now, ...amountAt(need, need.least) };
  if (seen === undefined) purse.waiting = living.filter((waiter) => waiter.place !== place);
  else if (own === -1) purse.waiting = [...living, seen];
  else if (!isFresh) purse.waiting = living.with(own, seen);
  let ahead = NO_AMOUNT;
  for (const waiter of own === -1 ? living : living.slice(0, own)) ahead = plus(ahead, waiter, 1);
  return ahead;
}

function affordable(purse: Purse, need: PurseNeed, ahead: PurseAmount): number {
  let output = need.most;
  for (const unit of UNITS) {
    const free = room(purse, unit, "free") - ahead[unit];
    output = Math.min(output, outputThatFits(free, need.prompt[unit], need.perToken[unit]));
  }
  return output;
}

/** The first limit that cannot give the least; with `reachable` not even if all calls in flight gave everything back. */
function shortage(purse: Purse, need: PurseNeed, kind: "free" | "reachable"): BudgetExceeded | undefined {
  for (const unit of UNITS) {
    const limit = purse.limits[unit];
    const fits = outputThatFits(room(purse, unit, kind), need.prompt[unit], need.perToken[unit]);
    if (limit === undefined || fits >= need.least) continue;
    const asked = amountAt(need, need.least)[unit];
    const used = purse.spent[unit] + purse.inFlight[unit] + purse.kept[unit] + asked;
    return unit === "tokens"
      ? new BudgetExceeded("tokens", used, limit)
      : new BudgetExceeded("costUsd", used / 1e9, limit / 1e9);
  }
  return undefined;
}

function room(purse: Purse, unit: keyof PurseAmount, kind: "free" | "reachable"): number {
  const reachable = (purse.limits[unit] ?? Number.POSITIVE_INFINITY) - purse.spent[unit] - purse.kept[unit];
  return kind === "reachable" ? reachable : reachable - purse.inFlight[unit];
}

function amountAt({ prompt, perToken }: PurseNeed, output: number): PurseAmount {
  return {
    tokens: prompt.tokens + output * perToken.tokens,
    nanoUsd: prompt.nanoUsd + output * perToken.nanoUsd,
  };
}

function columnOf({ kind, isLapsed }: PurseLease): "spent" | "inFlight" | "kept" {
  if (isLapsed) return "spent";
  return kind === "call" ? "inFlight" : "kept";
}

function add(purse: Purse, column: "spent" | "inFlight" | "kept", amount: PurseAmount, sign: 1 | -1): void {
  purse[column] = plus(purse[column], amount, sign);
}

function plus(one: PurseAmount, other: PurseAmount, sign: 1 | -1): PurseAmount {
  return { tokens: sum(one.tokens, sign * other.tokens), nanoUsd: sum(one.nanoUsd, sign * other.nanoUsd) };
}

/** Databases and JavaScript agree on whole numbers only up to here. */
function sum(one: number, other: number): number {
  return Math.min(one + other, Number.MAX_SAFE_INTEGER);
}

/** What a provider reports may be anything. What is no number counts as everything that was reserved. */
function wholeUnits(reported: number, reserved: number): number {
  if (Number.isNaN(reported)) return reserved;
  return Math.min(Math.max(0, Math.ceil(reported)), Number.MAX_SAFE_INTEGER);
}

function isUnlimited({ limits }: Purse): boolean {
  return limits.tokens === undefined && limits.nanoUsd === undefined;
}
