/** The limits of a run, from the configuration. */

import type { Configuration } from "../../core/configuration.ts";
import type { Budget, DelegationLimits } from "../../core/limits.ts";

/** These count the root, too. */
export function budgetOf({ agent: { maxTokensTotal, budget, timeout } }: Configuration): Budget {
  return { tokens: maxTokensTotal, costUsd: budget, seconds: timeout };
}

export function limitsOf({ agent: { subagent } }: Configuration): DelegationLimits {
  const { maxDepth, defaultMaxTurns, outputMaxSize, maxConcurrent, onFull, summary } = subagent;
  const { maxExecutions: executions, maxTotalTokens: tokens, maxTotalTime: seconds, maxTotalCost: costUsd } = subagent;
  return {
    maxDepth,
    defaultMaxTurns,
    outputMaxSize,
    maxConcurrent,
    onFull,
    summary,
    children: { executions, tokens, seconds, costUsd },
  };
}
