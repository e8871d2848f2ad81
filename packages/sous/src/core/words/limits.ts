/**
 * Every limit of delegation once: its type, its default, the values it may have and how it narrows. Its setting and its flag are in
 * `app/config/limit-settings.ts`; stored runs are checked by these rows, too.
 */

import type { Budget } from "../limits.ts";
import {
  AT_LEAST_0,
  hasFunctions,
  kindOf,
  NUMBER,
  type OptionKind,
  type OptionKinds,
  objectOf,
  wholeNumber,
  wordOf,
} from "../option-kinds.ts";
import { checkOptions } from "../options.ts";
import { isRecord } from "../schema.ts";
import type { RootBudget, SharedBudget } from "../shared-budget.ts";

/** The limits of delegation, as in the configuration (`agent.subagent`). */
export type DelegationLimits = {
  /** The deepest level that may exist; the root is 0. */
  maxDepth: number;
  /** Turns of a child made up by a call, when the call does not say. */
  defaultMaxTurns: number;
  /** Bytes of UTF-8 of a report; the rest is cut and can be fetched. */
  outputMaxSize: number;
  /** Children that are not waiting for children themselves. */
  maxConcurrent: number;
  onFull: "queue" | "refuse";
  summary: "auto" | "always" | "never";
  /** With an engine: children whose agent asks for it are placed on workers, or all that can be. */
  place: "asked" | "children";
  /** The budget of all children together; the root is not counted. */
  children: Budget;
};

export type DelegationLimit = Exclude<keyof DelegationLimits, "children">;

/** `narrows`: of two numbers the lower one holds (`lower`), or that of the tree whatever else is given (`never`). */
type LimitRow<Value> = ([Value] extends [number]
  ? { readonly default: number; readonly min: number; readonly max?: number; readonly narrows: "lower" }
  : { readonly default: Value; readonly words: readonly Value[]; readonly narrows: "never" }) & {
  /** The first version of stored events with this limit (`EVENT_VERSION`); 1 when unset. Runs from before have its default. */
  readonly since?: number;
};

/** Turns of one run: at most `max`; without a word of its definition, a root and an agent that is called by its name have these. */
export const TURNS = { max: 1000, root: 50, named: 100 };

/** Nothing could ever pass a limit below its minimum: a run that waits for one of no slots would wait for ever. */
export const LIMITS: { readonly [Name in DelegationLimit]: LimitRow<DelegationLimits[Name]> } = {
  maxDepth: { default: 3, min: 1, max: 10, narrows: "lower" },
  defaultMaxTurns: { default: 10, min: 1, max: TURNS.max, narrows: "lower" },
  outputMaxSize: { default: 4096, min: 1024, narrows: "lower" },
  maxConcurrent: { default: 5, min: 1, narrows: "lower" },
  onFull: { default: "queue", words: ["queue", "refuse"], narrows: "never" },
  summary: { default: "auto", words: ["auto", "always", "never"], narrows: "never" },
  place: { default: "asked", words: ["asked", "children"], narrows: "never", since: 3 },
};

export const LIMIT_NAMES = Object.keys(LIMITS) as readonly DelegationLimit[];

type LoweredName = { [Name in DelegationLimit]: DelegationLimits[Name] extends number ? Name : never }[DelegationLimit];
const isLowered = (name: DelegationLimit): name is LoweredName => LIMITS[name].narrows === "lower";

export const DEFAULT_LIMITS: DelegationLimits = Object.freeze({
  ...(Object.fromEntries(LIMIT_NAMES.map((name) => [name, LIMITS[name].default])) as Pick<
    DelegationLimits,
    DelegationLimit
  >),
  children: Object.freeze({}),
});

/** The limits that both allow: `given` can lower a number of `limits` and not raise it. */
export function narrowerLimits(limits: DelegationLimits, given: Partial<DelegationLimits> = {}): DelegationLimits {
  const narrowed = { ...limits, children: smallerBudget(limits.children, given.children) ?? {} };
  for (const name of LIMIT_NAMES.filter(isLowered))
    narrowed[name] = Math.min(limits[name], given[name] ?? limits[name]);
  return narrowed;
}

const LIMIT_OPTIONS = {
  ...Object.fromEntries(
    LIMIT_NAMES.map((name) => {
      const row = LIMITS[name];
      return [name, "words" in row ? wordOf(...row.words) : wholeNumber(row.min, row.max)];
    }),
  ),
  children: objectOf(),
};

export function checkLimits(limits: DelegationLimits): DelegationLimits {
  checkOptions("limits", limits, LIMIT_OPTIONS);
  checkBudget(limits.children, "limits.children");
  return limits;
}

const UNITS: OptionKinds<Budget> = {
  tokens: AT_LEAST_0,
  costUsd: AT_LEAST_0,
  durationMs: AT_LEAST_0,
  executions: AT_LEAST_0,
};

/** One that a store has opened. A promise of one that was not awaited is none. */
export const SHARED: OptionKind<SharedBudget> = kindOf(
  "a shared budget: await what sharedBudget() of a store returns",
  (value) => isRecord(value) && hasFunctions(value.rows, ["step"]),
);

/** `from` is a shared budget, which only a root may have. */
const BUDGET_OPTIONS: OptionKinds<RootBudget> = { ...UNITS, from: SHARED };

/** Every limit of a budget. */
export const BUDGET_UNITS = Object.keys(UNITS) as readonly (keyof Budget)[];

/** Less than nothing may be added: the command line takes time away when a new limit is below the old one. */
const ADDED_OPTIONS: OptionKinds<Budget> = { tokens: NUMBER, costUsd: NUMBER, durationMs: NUMBER, executions: NUMBER };

export function checkBudget(budget: Budget, name = "budget"): void {
  checkOptions(name, budget, BUDGET_OPTIONS);
}

export function checkAddedBudget(budget: Budget): void {
  checkOptions("addBudget", budget, ADDED_OPTIONS);
}

/** The smaller of two budgets, limit by limit. */
export function smallerBudget(one: Budget | undefined, other: Budget | undefined): Budget | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Object.fromEntries(BUDGET_UNITS.map((unit) => [unit, shorterLimit(one[unit], other[unit])]));
}

/** The smaller of two limits; undefined is none. */
export function shorterLimit(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}
