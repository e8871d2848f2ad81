/** Budgets and limits as events, texts and JSON have them: time in seconds. The library counts it in milliseconds. */

import type { Budget, LimitState } from "./limits.ts";
import type { DelegationLimits } from "./words/limits.ts";

/** A budget in a `run-start`. */
export type StoredBudget = Omit<Budget, "durationMs"> & { seconds?: number | undefined };

/** The limits of a tree in a `run-start`. */
export type StoredLimits = Omit<DelegationLimits, "children"> & { children: StoredBudget };

export function toStored({ durationMs, ...budget }: Budget): StoredBudget {
  return durationMs === undefined ? budget : { ...budget, seconds: durationMs / 1000 };
}

export function fromStored({ seconds, ...budget }: StoredBudget): Budget {
  return seconds === undefined ? budget : { ...budget, durationMs: secondsToMs(seconds) };
}

export function toStoredLimits(limits: DelegationLimits): StoredLimits {
  return { ...limits, children: toStored(limits.children) };
}

export function fromStoredLimits(limits: StoredLimits): DelegationLimits {
  return { ...limits, children: fromStored(limits.children) };
}

/** A limit as texts, JSON, logs and spans have it: time in seconds. */
export function shownLimit({ of, unit, limit, spent, reserved }: LimitState) {
  if (unit !== "durationMs") return { of, unit, limit, spent, reserved };
  return { of, unit: "seconds" as const, limit: limit / 1000, spent: spent / 1000, reserved };
}

/** `tokens of the tree: 3900 spent and 4800 reserved of 10000`. */
export function limitWords(state: LimitState): string {
  const { of, unit, limit, spent, reserved } = shownLimit(state);
  const amount = (value: number) => (unit === "costUsd" ? `$${value.toFixed(4)}` : String(value));
  const name = unit === "costUsd" ? "money" : unit;
  const whose = of === "tree" || of === "children" ? `the ${of}` : of;
  return `${name} of ${whose}: ${amount(spent)} spent and ${amount(reserved)} reserved of ${amount(limit)}`;
}

/** Rounds to microseconds: 1.001 s are 1001 ms. */
export function secondsToMs(seconds: number): number {
  return Math.round(seconds * 1e6) / 1000;
}

/** A run that is held back by the rate of its provider, in words. */
export function rateWaitWords(milliseconds: number): string {
  return `waits for the rate limit, ${Math.ceil(milliseconds / 1000)} s`;
}
