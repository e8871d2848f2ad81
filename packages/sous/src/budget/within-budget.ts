/** How the budget of all children and that of the whole tree go together. */

import type { Budget } from "../core/limits.ts";

/** A limit for children that is wider than the whole budget says nothing: the budget rules. */
export function withinBudget(children: Budget, whole: Budget): Budget {
  return {
    tokens: ifNarrower(children.tokens, whole.tokens),
    costUsd: ifNarrower(children.costUsd, whole.costUsd),
    executions: ifNarrower(children.executions, whole.executions),
  };
}

function ifNarrower(limit: number | undefined, whole: number | undefined): number | undefined {
  return limit !== undefined && whole !== undefined && limit > whole ? undefined : limit;
}
