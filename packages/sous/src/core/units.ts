/**
 * Durations and money as people write them; budgets and limits as events, texts and JSON have them: time in seconds. The library
 * counts it in milliseconds.
 */

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

/** Also the pattern of JSON Schemas. */
export const DURATION_PATTERN: RegExp = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d|w)?$/;

const MILLISECONDS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Milliseconds of `90s`, `1.5h` or `2w`; a number alone is seconds. Undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = "s"] = DURATION_PATTERN.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (MILLISECONDS[unit] ?? Number.NaN);
}

/** Also the pattern of JSON Schemas. */
export const MONEY_PATTERN: RegExp = /^\$?\d{1,9}(\.\d{1,9})?$/;

/** US dollars of `0.50` or `$2`. Undefined for anything else. */
export function parseMoney(text: string): number | undefined {
  return MONEY_PATTERN.test(text) ? Number(text.replace("$", "")) : undefined;
}

/** Rounds to microseconds: 1.001 s are 1001 ms. */
export function secondsToMs(seconds: number): number {
  return Math.round(seconds * 1e6) / 1000;
}
