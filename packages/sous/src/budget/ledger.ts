/** What a tree may spend, kept in one place: a tree of accounts in which nobody can take what another has reserved. */

import { BudgetExceeded } from "../core/errors.ts";
import { type Account, type Budget, type CallNeed, checkBudget, type Lease, type Spent } from "../core/limits.ts";
import type { Scope } from "../core/scope.ts";
import { CallLease } from "./call-lease.ts";
import { Funds, NOTHING } from "./funds.ts";
import { LastWordsLease } from "./last-words-lease.ts";
import { Meter, toNanoUsd, toUsd } from "./meter.ts";

/** The account of a root. Time is not kept here but by the deadlines of the tree. */
export function openLedger(budget: Budget): Ledger {
  return new LedgerAccount(undefined, []).open(budget);
}

/** An account in one process: it answers at once. */
export type Ledger = Omit<Account, "open" | "startExecution" | "reserveWrapUp" | "limitsMoney"> & {
  open(budget: Budget): Ledger;
  limitsMoney(): boolean;
  startExecution(): void;
  reserveWrapUp(need: CallNeed, instead?: Lease): LocalWrapUp;
};

type LocalWrapUp = Disposable & { resize(need: CallNeed): boolean; take(need: CallNeed): Lease | undefined };

/** How many children may start. */
type Executions = { readonly limit: number; started: number };

class LedgerAccount implements Ledger {
  /** Undefined when neither tokens nor money are limited here or above. */
  readonly #funds: Funds | undefined;
  readonly #executions: readonly Executions[];
  readonly isMetered: boolean;

  constructor(funds: Funds | undefined, executions: readonly Executions[]) {
    this.#funds = funds;
    this.#executions = executions;
    this.isMetered = funds !== undefined;
  }

  open(budget: Budget): Ledger {
    checkBudget(budget);
    const meters = metersOf(budget);
    const executions = isLimited(budget.executions) ? [{ limit: budget.executions, started: 0 }] : [];
    for (const own of meters) {
      for (const above of this.#funds?.meters ?? []) {
        if (above.unit === own.unit && own.limit > above.free) throw above.exceededBy(own.limit);
      }
    }
    for (const { limit } of executions) this.#checkExecutions(limit);
    // A child without limits of its own is its parent's account: a wide tree costs nothing.
    if (meters.length + executions.length === 0) return this;
    return new LedgerAccount(meters.length === 0 ? this.#funds : new Funds(meters, this.#funds), [
      ...this.#executions,
      ...executions,
    ]);
  }

  startExecution(): void {
    for (const { limit, started } of this.#executions) {
      if (started >= limit) throw new BudgetExceeded("executions", started, limit);
    }
    for (const executions of this.#executions) executions.started += 1;
  }

  undoExecution(): void {
    for (const executions of this.#executions) executions.started -= 1;
  }

  countExecution(): void {
    for (const executions of this.#executions) executions.started += 1;
  }

  reserve(need: CallNeed, scope: Scope): Lease | Promise<Lease> {
    if (this.#funds === undefined) return FREE_LEASE;
    scope.throwIfAborted();
    return this.#funds.reserve(need, scope);
  }

  reserveWrapUp(need: CallNeed, instead?: Lease): LocalWrapUp {
    if (this.#funds === undefined) return FREE_LAST_WORDS;
    return new LastWordsLease(this.#funds, need, instead instanceof CallLease ? instead : undefined);
  }

  charge(spent: Spent): void {
    this.#funds?.giveBack(NOTHING, spent.tokens, spent.costUsd);
  }

  limitsMoney(): boolean {
    return this.#funds?.meters.some(({ unit }) => unit === "costUsd") ?? false;
  }

  /** What nobody has spent or reserved; a limit that is not set is not mentioned. */
  left(): Budget {
    const left: Budget = {};
    for (const { unit, free } of this.#funds?.meters ?? []) {
      const amount = Math.max(0, unit === "tokens" ? free : toUsd(free));
      left[unit] = Math.min(left[unit] ?? amount, amount);
    }
    for (const { limit, started } of this.#executions) {
      left.executions = Math.max(0, Math.min(left.executions ?? limit, limit - started));
    }
    return left;
  }

  flushed(): undefined {}

  #checkExecutions(asked: number): void {
    for (const { limit, started } of this.#executions) {
      if (started + asked > limit) throw new BudgetExceeded("executions", started + asked, limit);
    }
  }
}

/** Shared by everybody who need not count: it covers any output. */
const FREE_LEASE: Lease = Object.freeze({
  outputCap: Number.POSITIVE_INFINITY,
  settle: () => {},
  [Symbol.dispose]: () => {},
});

const FREE_LAST_WORDS: LocalWrapUp = Object.freeze({
  resize: () => true,
  take: () => FREE_LEASE,
  [Symbol.dispose]: () => {},
});

function metersOf({ tokens, costUsd }: Budget): Meter[] {
  const meters: Meter[] = [];
  if (isLimited(tokens)) meters.push(new Meter("tokens", Math.floor(tokens)));
  if (isLimited(costUsd)) meters.push(new Meter("costUsd", toNanoUsd(costUsd)));
  return meters;
}

function isLimited(limit: number | undefined): limit is number {
  return limit !== undefined && limit !== Number.POSITIVE_INFINITY;
}
