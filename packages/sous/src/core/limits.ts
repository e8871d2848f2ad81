/** What a tree may spend: budgets as people give them, and the port of the ledger that keeps them. */

import { UserError } from "./errors.ts";
import { checkWhole, checkWord } from "./options.ts";
import type { Scope } from "./scope.ts";
import type { Price } from "./usage.ts";

/** Unset = unlimited. A child may be given less than what is left, never more. */
export type Budget = {
  /** Input and output tokens together. */
  tokens?: number | undefined;
  costUsd?: number | undefined;
  /** Wall time. For a root this is its deadline. */
  seconds?: number | undefined;
  /** How many children may start. */
  executions?: number | undefined;
};

export function checkBudget(budget: Budget, name = "budget"): void {
  for (const unit of ["tokens", "costUsd", "seconds", "executions"] as const) {
    const limit = budget[unit];
    if (limit === undefined || (typeof limit === "number" && limit >= 0)) continue;
    throw new UserError(`${name}.${unit} must be 0 or more; found ${limit}`);
  }
}

/** Of two budgets the smaller, limit by limit. */
export function smallerBudget(one: Budget | undefined, other: Budget | undefined): Budget | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const least = (name: keyof Budget): number | undefined =>
    one[name] === undefined || other[name] === undefined
      ? (one[name] ?? other[name])
      : Math.min(one[name], other[name]);
  return {
    tokens: least("tokens"),
    costUsd: least("costUsd"),
    seconds: least("seconds"),
    executions: least("executions"),
  };
}

/** On exhaustion: `wrap-up` spends a kept reserve on one last turn without tools, `stop` ends at once. */
export type OnExhausted = "wrap-up" | "stop";

/** What one model call needs: its prompt, and as much output as can be had between the two bounds. */
export type CallNeed = {
  promptTokens: number;
  /** The most that is wanted. */
  outputCap: number;
  /** Below this the call is not worth making. */
  minOutput: number;
  price: Price | undefined;
};

/** What a call really took; `tokens` includes input and output. */
export type Spent = { tokens: number; costUsd: number | null };

/** A reservation. Settling returns the rest; disposing it unsettled returns all of it. */
export type Lease = Disposable & {
  /** How much output the reservation covers. */
  readonly outputCap: number;
  settle(spent: Spent): void;
};

/** The reserve a run keeps for its last words. */
export type WrapUpLease = Disposable & {
  /** Makes it cover this need; false when there is not enough left, and then it stays as it was. */
  resize(need: CallNeed): boolean | Promise<boolean>;
  /** Turns it into the lease of the last call, with as much more as is free; undefined if it cannot cover the need. */
  take(need: CallNeed): Lease | undefined | Promise<Lease | undefined>;
};

/**
 * One node of the ledger: what this part of the tree may spend. Taking from it takes from every ancestor, or from none. Only
 * where other processes share in it does it answer with promises, and then it can throw a `StoreError`.
 */
export type Account = {
  /** False when neither tokens nor money are limited here or above: reservations are then free and immediate. */
  readonly isMetered: boolean;
  /** The account of a child with its own, smaller budget. Throws `BudgetExceeded` when it asks for more than is left. */
  open(budget: Budget): Account;
  /** Counts one child. Throws `BudgetExceeded` when none is left; once the child has started it stays counted. */
  startExecution(): void | Promise<void>;
  /** Takes the count back for a child that never started, such as one cancelled while it waited for a place. */
  undoExecution(): void;
  /** Counts a child that had started before a restart, whatever is left. Who shares in the account knows of it already. */
  countExecution(): void;
  /** Reserves for one attempt. Waits while leases in flight could still release enough; then throws `BudgetExceeded`. */
  reserve(need: CallNeed, scope: Scope): Lease | Promise<Lease>;
  /**
   * Opens the reserve of a run. Throws `BudgetExceeded` when not even that is left. `instead` is a lease it takes the
   * place of, so that nobody who waits gets in between.
   */
  reserveWrapUp(need: CallNeed, instead?: Lease): WrapUpLease | Promise<WrapUpLease>;
  /**
   * Counts what was spent without a reservation, such as a call found unsettled after a crash. Who shares in the account
   * knows of it already.
   */
  charge(spent: Spent): void;
  /** Whether money is limited here, above, or by a budget that is shared: then nothing may be asked whose price is unknown. */
  limitsMoney(): boolean | Promise<boolean>;
  /** Without what others have who share in it. */
  left(): Budget;
  /** Undefined when those who share in it know of everything that was spent and given back so far. Never rejects. */
  flushed(): Promise<void> | undefined;
};

/** The right of one run to be at work. Disposing it gives it back. */
export type RunSlot = Disposable & {
  /** Gives the slot back while the run waits for a descendant or for consent. Rests are counted: each needs its `wake`. */
  rest(): void;
  /** Ends one rest. The last one takes a slot again, before runs that have not started. */
  wake(scope: Scope): void | Promise<void>;
};

/** How many runs of a tree may be at work at once. */
export type RunSlots = {
  /** First come, first served. Throws a `ToolFailure` when full and told to refuse instead of queueing. */
  take(scope: Scope): RunSlot | Promise<RunSlot>;
};

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
  /** What all children together may spend; the root is not counted. */
  children: Budget;
};

export const DEFAULT_LIMITS: DelegationLimits = Object.freeze({
  maxDepth: 3,
  defaultMaxTurns: 10,
  outputMaxSize: 4096,
  maxConcurrent: 5,
  onFull: "queue",
  summary: "auto",
  children: Object.freeze({}),
});

/** What both allow: `given` can lower a number of `limits` and not raise it. */
export function narrowerLimits(limits: DelegationLimits, given: Partial<DelegationLimits> = {}): DelegationLimits {
  const least = (name: "maxDepth" | "defaultMaxTurns" | "outputMaxSize" | "maxConcurrent"): number =>
    Math.min(limits[name], given[name] ?? limits[name]);
  return {
    ...limits,
    maxDepth: least("maxDepth"),
    defaultMaxTurns: least("defaultMaxTurns"),
    outputMaxSize: least("outputMaxSize"),
    maxConcurrent: least("maxConcurrent"),
    children: smallerBudget(limits.children, given.children) ?? {},
  };
}

/** Refuses limits nothing could ever pass: a run that waits for one of no places would wait for ever. */
export function checkLimits(limits: DelegationLimits): DelegationLimits {
  checkWhole("limits.maxDepth", limits.maxDepth, 1, 10);
  checkWhole("limits.defaultMaxTurns", limits.defaultMaxTurns, 1, 1000);
  checkWhole("limits.outputMaxSize", limits.outputMaxSize, 1024);
  checkWhole("limits.maxConcurrent", limits.maxConcurrent, 1);
  checkWord("limits.onFull", limits.onFull, ["queue", "refuse"]);
  checkWord("limits.summary", limits.summary, ["auto", "always", "never"]);
  checkBudget(limits.children, "limits.children");
  return limits;
}
