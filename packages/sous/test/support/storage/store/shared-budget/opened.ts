/** A shared budget as its store made it, with the port that the ledger draws on. */

import { checkShared, type OpenedBudget, type SharedBudget } from "../../../../../src/core/shared-budget.ts";

export function opened(shared: SharedBudget): OpenedBudget {
  checkShared(shared);
  return shared;
}
