/** Trees on a shared budget in memory, in one process or several, for races that every ledger must pass. */

import type { Account, Budget, LimitState } from "../../src/core/limits.ts";
import type { BudgetRows, OpenedBudget } from "../../src/core/shared-budget.ts";
import { openLedger } from "../../src/runtime/budget/ledger.ts";
import { type SharedChain, sharedChainOf } from "../../src/runtime/budget/shared-budget-client.ts";
import { MemoryBudgets } from "../../src/storage/store/memory-budgets.ts";
import { openSharedBudget } from "../../src/storage/store/shared-budget.ts";
import { VirtualClock } from "../../src/testing/world.ts";
import type { OpenRace } from "./r4-races.ts";

export type SharedRaceOptions = {
  /** Each draws on the rows by itself. */
  processes: number;
  /** Answers in a later turn of the event loop. */
  isSlow?: boolean | undefined;
  chainOf?: typeof sharedChainOf | undefined;
  budgets?: MemoryBudgets | undefined;
  open?: typeof openLedger | undefined;
};

/** The clock stands still: a run that waits is woken by what happens here, or never. Each process has two trees. */
export function openSharedRace(options: SharedRaceOptions): OpenRace {
  const { processes, isSlow = false, chainOf = sharedChainOf, open = openLedger } = options;
  return async (budget, slots) => {
    const budgets = options.budgets ?? new MemoryBudgets();
    const trees: Account[] = [];
    for (let process = 0; process < processes; process++) {
      const rows = budgets.rowsFor(`process ${process}`);
      const shared = await openSharedBudget(isSlow ? slow(rows) : rows, "race", process === 0 ? budget : undefined);
      const chain: SharedChain = chainOf(shared, new VirtualClock(0));
      for (let tree = 0; tree < 2; tree++) trees.push(open({}, { slots: slots(), shared: chain }));
    }
    const [first, ...others] = trees;
    if (first === undefined) throw new Error("A race needs a process");
    const limits = async () => limitsOf(await openSharedBudget(budgets.rowsFor("judge"), "race"), budget);
    return { name: NAME, trees: [first, ...others], limits };
  };
}

const NAME = "shared budget race";

async function limitsOf(shared: OpenedBudget, budget: Budget): Promise<LimitState[]> {
  const [left, spent] = [await shared.left(), await shared.spent()];
  return (["tokens", "costUsd", "executions"] as const).flatMap((unit) => {
    const limit = budget[unit];
    if (limit === undefined) return [];
    // What was spent beyond the limit is found by the books of the race.
    const reserved = Math.max(0, limit - (spent[unit] ?? 0)) - (left[unit] ?? 0);
    return [{ of: NAME, unit, limit, spent: spent[unit] ?? 0, reserved }];
  });
}

function slow(rows: BudgetRows): BudgetRows {
  return {
    step: async (step) => {
      await new Promise<void>((resolve) => setImmediate(resolve));
      return rows.step(step);
    },
    look: (name) => rows.look(name),
    make: (budget) => rows.make(budget),
    listen: rows.listen,
  };
}
