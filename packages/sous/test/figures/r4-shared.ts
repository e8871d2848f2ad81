/** A ledger whose limits are those of a shared budget in memory, for races that every ledger must pass. */

import { type Ledger, openLedger } from "../../src/budget/ledger.ts";
import type { Account, Budget } from "../../src/core/limits.ts";
import { wait } from "../../src/core/now-or-later.ts";
import { memoryPurses } from "../../src/store/memory-budget.ts";
import type { PurseTables } from "../../src/store/shared-budget.ts";
import { openSharedBudget } from "../../src/store/shared-budget.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

type DrawOn = typeof import("../../src/budget/shared-account.ts").drawOn;

/** The clock stands still: whoever waits is woken by what happens here, or never. */
export function sharedLedgers(drawOn: DrawOn, openShared = openSharedBudget): (budget: Budget) => Promise<Ledger> {
  return async (budget) => {
    const tables = memoryPurses();
    const shared = await openShared(tables, "race", budget);
    return withPurse(drawOn(shared, openLedger({}), new VirtualClock(0)), tables);
  };
}

/** What is left to an account is what is left to it and in the purse. A purse in memory answers at once. */
function withPurse(account: Account, tables: PurseTables): Ledger {
  const { isMetered } = account;
  const view: Account = {
    isMetered,
    open: (budget) => withPurse(account.open(budget), tables) as Account,
    startExecution: () => account.startExecution(),
    undoExecution: () => account.undoExecution(),
    countExecution: () => account.countExecution(),
    reserve: (need, scope) => account.reserve(need, scope),
    reserveWrapUp: (need, instead) => account.reserveWrapUp(need, instead),
    charge: (spent) => account.charge(spent),
    flushed: () => account.flushed(),
    limitsMoney: () => account.limitsMoney(),
    left() {
      const [own, purse] = [account.left(), leftIn(tables)];
      for (const unit of ["tokens", "costUsd", "executions"] as const)
        if (own[unit] !== undefined || purse[unit] !== undefined)
          own[unit] = Math.min(own[unit] ?? Number.POSITIVE_INFINITY, purse[unit] ?? Number.POSITIVE_INFINITY);
      return own;
    },
  };
  return view as Ledger;
}

function leftIn(tables: PurseTables): Budget {
  const purse = tables.transact("race", function* (rows) {
    return yield* wait(rows.load());
  });
  if (purse === undefined || purse instanceof Promise) throw new Error("The purse is gone");
  const { limits, spent, inFlight, kept } = purse;
  const left: Budget = {};
  if (limits.tokens !== undefined) left.tokens = limits.tokens - spent.tokens - inFlight.tokens - kept.tokens;
  if (limits.nanoUsd !== undefined)
    left.costUsd = (limits.nanoUsd - spent.nanoUsd - inFlight.nanoUsd - kept.nanoUsd) / 1e9;
  if (limits.executions !== undefined) left.executions = limits.executions - purse.executions;
  return left;
}
