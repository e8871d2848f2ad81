/** The port of a shared budget: a record with a name in a store, on which trees in any number of processes draw. */

import { StoreError, UserError } from "./errors.ts";
import type { Budget } from "./limits.ts";
import type { SharedBudgetLimits, SharedBudgetReply, SharedBudgetStep } from "./shared-budget-books.ts";
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

/** A shared budget as a store makes it: with the port of the ledger, each call of which is one transaction. */
export type OpenedBudget = SharedBudget & { readonly books: SharedBudgetPort };

/** The budget of a tree by itself, and what it shares with others. */
export type RootBudget = Budget & {
  /** Everything the tree spends is taken from here as well. */
  from?: SharedBudget | undefined;
};

/** The row of one process in the books. Each open budget has one of its own. */
export type SharedBudgetPort = {
  /**
   * One step as one transaction: it is kept whole or not at all, and may be repeated. A store that answers at once returns no
   * promise. A process that makes no step for half a minute, and cannot be seen running, is taken for dead.
   */
  step(step: Omit<SharedBudgetStep, "id" | "owner" | "now">): SharedBudgetReply | Promise<SharedBudgetReply>;
  /** Takes the row out of the books. What its calls still hold counts as spent. */
  leave(): void | Promise<void>;
  /** Notifies when others may have changed the books; undefined when the books have to be polled. */
  listen(onNews: () => void): Disposable | undefined;
};

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
  if (isText && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) return;
  throw new UserError(`The name of a shared budget has 1 to ${MAX_NAME} printable characters; found ${shown(name)}`);
}

/** The limits that were given, in the units of the books. Throws a `UserError` for what is not a limit. */
export function toBookLimits(limits: SharedLimits): SharedBudgetLimits {
  const strange = Object.keys(limits).find((key) => !LIMITS.includes(key));
  if (strange !== undefined)
    throw new UserError(`A shared budget limits tokens, costUsd or executions; found ${JSON.stringify(strange)}`);
  checkBudget(limits, "limits");
  const { tokens, costUsd, executions } = limits;
  const given = { tokens: whole(tokens), nanoUsd: whole(costUsd, 1e9), executions: whole(executions) };
  if (Object.values(given).every((limit) => limit === undefined))
    throw new UserError("A shared budget needs a limit: give tokens, costUsd or executions");
  return given;
}

/** Converts the limits to the units that people give. */
export function toSharedLimits({ tokens, nanoUsd, executions }: SharedBudgetLimits): SharedLimits {
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
