/** The counts of a stream as ours. */

import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Usage } from "../core/usage.ts";

/**
 * The counts of the provider. Neither a prompt nor an answer with content has zero tokens, so zeros mean that it did not
 * count: then this is undefined and the caller estimates.
 */
export function toUsage(reported: LanguageModelV4Usage | undefined, hasOutput: boolean): Usage | undefined {
  const inputTokens = toCount(reported?.inputTokens.total);
  const outputTokens = toCount(reported?.outputTokens.total);
  if (reported === undefined || inputTokens === 0 || (outputTokens === 0 && hasOutput)) return undefined;
  const cachedInputTokens = Math.min(toCount(reported.inputTokens.cacheRead), inputTokens);
  return {
    inputTokens,
    outputTokens,
    cachedInputTokens,
    cacheWriteTokens: Math.min(toCount(reported.inputTokens.cacheWrite), inputTokens - cachedInputTokens),
    totalTokens: inputTokens + outputTokens,
    estimated: false,
  };
}

function toCount(tokens: number | undefined): number {
  return tokens !== undefined && Number.isSafeInteger(tokens) && tokens > 0 ? tokens : 0;
}
