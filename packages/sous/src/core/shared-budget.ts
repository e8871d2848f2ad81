/** The port of a shared budget: rows with a name in a store, on which trees in any number of processes draw. */

import { StoreError, UserError } from "./errors.ts";
import type { Budget } from "./limits.ts";
import { isUlid } from "./ulid.ts";
import { checkBudget, SHARED } from "./words/limits.ts";

/** Unset = unlimited. Time is not among them: it passes for all. */
export type SharedLimits = Pick<Budget, "tokens" | "costUsd" | "executions">;

/**
 * Stores that can share a budget have this. It is not part of `Store`: a store of one's own keeps events, and need not be
 * able to let processes agree on a number.
 */
export type SharedBudgets = {
  /**
   * Makes the budget with these limits, or joins it when there is one with the same. Without limits it joins whatever there
   * is. Throws a `UserError` when there is none, or one with other limits, unless `existing` says to replace them.
   */
  sharedBudget(name: string, limits?: SharedLimits, options?: SharedBudgetOptions): Promise<SharedBudget>;
};

/** The options of a shared budget. */
export type SharedBudgetOptions = {
  /** `join` (the default) refuses other limits. `replace` sets them for all users; what was spent stays spent. */
  existing?: "join" | "replace" | undefined;
};

/**
 * `run(agent, task, { budget: { from: shared } })` draws on it. A reservation whose process died counts as spent. A store that
 * fails throws a `StoreError`, and nothing may be spent then.
 */
export type SharedBudget = {
  readonly name: string;
  /** The amounts that are neither spent nor reserved; a limit that is not set is not mentioned. */
  left(): Promise<SharedLimits>;
  /** The amounts that are gone for good, also where there is no limit. */
  spent(): Promise<Required<SharedLimits>>;
};

/** A shared budget as a store makes it: with the port of the ledger. */
export type OpenedBudget = SharedBudget & { readonly rows: BudgetRows };

/** The budget of a tree by itself, and what it shares with others. */
export type RootBudget = Budget & {
  /** Everything the tree spends is taken from here as well. */
  from?: SharedBudget | undefined;
};

/** The units of a shared budget; each is a row of its own. */
export const BUDGET_ROW_UNITS = ["tokens", "nanoUsd", "executions"] as const;
export type BudgetRowUnit = (typeof BUDGET_ROW_UNITS)[number];

/** The amounts of one row: spent, in the calls in flight, and kept for last words. */
export type BudgetFigures = { readonly spent: number; readonly inFlight: number; readonly kept: number };

export const NO_FIGURES: BudgetFigures = Object.freeze({ spent: 0, inFlight: 0, kept: 0 });

/** A change of one row, or the row as it stands. */
export type BudgetLine = BudgetFigures & { readonly name: string; readonly unit: BudgetRowUnit };
export type BudgetRow = BudgetLine & { readonly limit: number | undefined };

/**
 * One budget that an account draws on, as plain data: the journal of a child that runs elsewhere holds its chain. Without limits
 * it is a shared budget with a name of its own, which is there; any other is made by the first step on it.
 */
export type ChainLink = { readonly name: string; readonly limits?: SharedLimits | undefined };

/** A budget that the step makes when it is missing. `spent`: what its tree had spent before it had rows. */
export type MadeBudget = {
  readonly name: string;
  readonly limits: Readonly<Record<BudgetRowUnit, number | undefined>>;
  readonly spent: Readonly<Record<BudgetRowUnit, number>>;
  /** The limits replace those of a budget that is there. */
  readonly replaces: boolean;
};

/** Everything that the runs of a process give back and ask for, in one transaction. */
export type BudgetStep = {
  /** Each step of a process has a number of its own, from 1; a step that is repeated is taken once. */
  readonly number: number;
  /** The number of times that the process was told that it had been taken for dead. */
  readonly lapses: number;
  readonly made: readonly MadeBudget[];
  /** The amounts spent and given back since the last step, each with its sign. Taken whatever the limits are. */
  readonly gives: readonly BudgetLine[];
  /** Taken from all rows or from none: where a limit is too small for one of them, none is changed. */
  readonly asks: readonly BudgetLine[];
  /** The budgets to report, one at least; those of all lines are among them. */
  readonly names: readonly string[];
  /** The budgets that runs wait for, besides those that are asked for in vain. */
  readonly waits: readonly string[];
};

export type BudgetReply = {
  /** False when it has lapsed: then nothing was taken, and its reserves are gone. */
  readonly isTaken: boolean;
  readonly isGranted: boolean;
  readonly lapses: number;
  readonly rows: readonly BudgetRow[];
};

/**
 * The rows of a store, as one process draws on them. A process that makes no step for half a minute, and cannot be seen running, is
 * taken for dead: what its calls hold counts as spent, and what it keeps is free.
 */
export type BudgetRows = {
  /** A store that answers at once returns no promise. */
  step(step: BudgetStep): BudgetReply | Promise<BudgetReply>;
  /** The rows of a budget, without what the dead held; none when there is no such budget. */
  look(name: string): readonly BudgetRow[] | Promise<readonly BudgetRow[]>;
  make(budget: MadeBudget): void | Promise<void>;
  /** Notifies of the budgets of which something came back; undefined when they have to be polled. */
  readonly listen?: ((onNews: () => void) => Disposable | undefined) | undefined;
};

/** The rows of a store; undefined for one that cannot share a budget. */
export function budgetRowsOf(store: object): BudgetRows | undefined {
  return (store as { readonly budgetRows?: BudgetRows }).budgetRows;
}

/** Throws a `UserError` for anything else. */
export function checkShared(from: SharedBudget | undefined): asserts from is OpenedBudget | undefined {
  if (from !== undefined && !SHARED.takes(from))
    throw new UserError(`budget.from must be ${SHARED.wants}; found ${SHARED.found(from)}`);
}

const MAX_NAME = 200;
const LIMITS = ["tokens", "costUsd", "executions"];

/** Throws a `UserError` when the name cannot be kept and shown. */
export function checkSharedName(name: string): void {
  const isText = typeof name === "string" && name.length > 0 && name.length <= MAX_NAME;
  if (isText && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) {
    // The rows of a tree have its id, and are deleted with it.
    if (!isUlid(name.slice(0, 26))) return;
    throw new UserError(`A shared budget cannot be called as a run is: ${shown(name)} begins with the id of one`);
  }
  throw new UserError(`The name of a shared budget has 1 to ${MAX_NAME} printable characters; found ${shown(name)}`);
}

/** The limits that were given, in the units of the rows. Throws a `UserError` for what is not a limit. */
export function toGivenLimits(limits: SharedLimits): MadeBudget["limits"] {
  const strange = Object.keys(limits).find((key) => !LIMITS.includes(key));
  if (strange !== undefined)
    throw new UserError(`A shared budget limits tokens, costUsd or executions; found ${JSON.stringify(strange)}`);
  checkBudget(limits, "limits");
  const given = toRowLimits(limits);
  if (Object.values(given).every((limit) => limit === undefined))
    throw new UserError("A shared budget needs a limit: give tokens, costUsd or executions");
  return given;
}

export function toRowLimits({ tokens, costUsd, executions }: SharedLimits): MadeBudget["limits"] {
  return { tokens: whole(tokens), nanoUsd: whole(costUsd, 1e9), executions: whole(executions) };
}

/** Converts amounts to the units that people give; unlimited ones are left out. */
export function toSharedLimits({ tokens, nanoUsd, executions }: Partial<MadeBudget["limits"]>): SharedLimits {
  return {
    ...(tokens === undefined ? {} : { tokens }),
    ...(nanoUsd === undefined ? {} : { costUsd: nanoUsd / 1e9 }),
    ...(executions === undefined ? {} : { executions }),
  };
}

/** A shared budget that cannot be reached must not be spent; the message says why. */
export function unreachable(name: string, cause: unknown, message: string): StoreError {
  return new StoreError(`The shared budget ${JSON.stringify(name)} cannot be used: ${message}`, { cause });
}

function whole(limit: number | undefined, factor = 1): number | undefined {
  if (limit === undefined || limit === Number.POSITIVE_INFINITY) return undefined;
  return Math.min(factor === 1 ? Math.floor(limit) : Math.round(limit * factor), Number.MAX_SAFE_INTEGER);
}

function shown(name: unknown): string {
  const text = typeof name === "string" ? JSON.stringify(name) : String(name);
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`;
}
