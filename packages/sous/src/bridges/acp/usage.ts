/**
 * Reads what a prompt has used from the agent's words. Each agent says it elsewhere: Claude in `usage`, and more in
 * `_meta.quota.model_usage`, which counts its title call too; gemini only in `_meta.quota.token_count`; opencode in `usage`, but
 * of its last call only; codex nothing but `used` of a `usage_update`, the size of the context: that is not what was spent, and
 * an estimate where nothing else is said. After a cancelled prompt Claude and opencode report zeros. So a zero is "unknown", the
 * largest figure is taken, and all figures are claims: what cannot be true is "unknown" too.
 */

import { z } from "zod";
import { addUsage, noUsage, type Usage } from "../../core/usage.ts";
import type { PromptResult } from "./schema.ts";

/** No prompt uses more. */
const MAX_TOKENS = 1e12;
const MAX_COST_USD = 1e6;
/** Report less than they use, see above. */
const PARTIAL_REPORTERS: ReadonlySet<string> = new Set(["opencode"]);

const count = z.int().min(0).max(MAX_TOKENS).nullish().catch(undefined);
const counts = z.object({
  totalTokens: count,
  inputTokens: count,
  input_tokens: count,
  outputTokens: count,
  output_tokens: count,
  cachedReadTokens: count,
  cachedInputTokens: count,
  cachedWriteTokens: count,
});
const quota = z.object({
  quota: z.object({
    token_count: z.unknown().optional(),
    model_usage: z.array(z.object({ token_count: z.unknown().optional() })).catch([]),
  }),
});

/** Undefined when the agent did not say. */
export function usageOf({ usage, _meta }: PromptResult, agentName: string | undefined): Usage | undefined {
  const meta = quota.safeParse(_meta);
  const allModels = noUsage();
  for (const { token_count } of meta.data?.quota.model_usage ?? [])
    for (const each of readCounts(token_count)) addUsage(allModels, each);
  const figures = [...readCounts(usage), ...readCounts(meta.data?.quota.token_count), allModels].filter(
    ({ totalTokens }) => totalTokens > 0,
  );
  if (figures.length === 0) return undefined;
  const most = figures.reduce((a, b) => (b.totalTokens > a.totalTokens ? b : a));
  return { ...most, estimated: agentName !== undefined && PARTIAL_REPORTERS.has(agentName.toLowerCase()) };
}

/** The usage of an agent that says nothing but the size of its context: its last call has read that much, at least. */
export function usageOfContext(tokens: number): Usage | undefined {
  if (tokens <= 0 || tokens > MAX_TOKENS) return undefined;
  return { ...noUsage(), inputTokens: tokens, totalTokens: tokens, estimated: true };
}

function readCounts(given: unknown): Usage[] {
  const found = counts.safeParse(given);
  if (!found.success) return [];
  const { data } = found;
  const input = data.inputTokens ?? data.input_tokens ?? 0;
  const output = data.outputTokens ?? data.output_tokens ?? 0;
  const read = data.cachedReadTokens ?? data.cachedInputTokens ?? 0;
  const written = data.cachedWriteTokens ?? 0;
  // Some count what came from a cache beside the input, some within it: the total tells.
  const isBeside = (data.totalTokens ?? 0) >= input + output + read + written || read + written > input;
  const inputTokens = isBeside ? input + read + written : input;
  const totalTokens = Math.max(data.totalTokens ?? 0, inputTokens + output);
  return [
    {
      inputTokens,
      outputTokens: totalTokens - inputTokens,
      cachedInputTokens: read,
      cacheWriteTokens: written,
      totalTokens,
      estimated: false,
    },
  ];
}

/** The cost of prompts, out of the cost of the session so far. */
export class SessionCost {
  /** Undefined for a session that was loaded: what it had cost before is not known until the agent says it. */
  #atStart: number | undefined;
  #now: number | undefined;

  constructor(isNew: boolean) {
    this.#now = isNew ? 0 : undefined;
  }

  startPrompt(): void {
    this.#atStart = this.#now;
  }

  /** Other currencies and amounts that cannot be are not known; an amount that falls makes the rest unknown. */
  report({ amount, currency }: { amount: number; currency: string }): void {
    const isPossible = currency === "USD" && amount >= 0 && amount <= MAX_COST_USD;
    if (!isPossible) return;
    if (this.#now !== undefined && amount < this.#now) this.#atStart = undefined;
    this.#now = amount;
  }

  /** The cost of this prompt. Undefined when it is not known; a price of 0 is one that the agent does not know. */
  get ofPrompt(): number | undefined {
    if (this.#now === undefined || this.#atStart === undefined) return undefined;
    const cost = this.#now - this.#atStart;
    return cost > 0 ? cost : undefined;
  }
}
