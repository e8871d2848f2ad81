/** Translates how much a model thinks into the words of its provider. Thinking is paid from the output, so it stays below its cap. */

import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Effort, ProviderOptions } from "../../core/model-options.ts";
import { isRecord } from "../../core/schema.ts";

type Asked = {
  readonly effort: Effort | undefined;
  /** The cap of the whole answer, thoughts included; undefined when there is none. */
  readonly cap: number | undefined;
  readonly providerOptions: ProviderOptions | undefined;
  /** A tool must be called: Anthropic's models cannot think then. */
  readonly isForced: boolean;
};

type Thinking = {
  reasoning?: LanguageModelV4CallOptions["reasoning"];
  maxOutputTokens: number | undefined;
  providerOptions?: ProviderOptions;
};

/** The option of the call: the portable word where the adapter keeps to the cap, a number of tokens where it would not. */
export function thinkingFor({ provider, modelId }: { provider: string; modelId: string }, asked: Asked): Thinking {
  const { effort, cap } = asked;
  if (provider === "anthropic.messages") return forAnthropic(modelId, asked);
  if (effort === undefined || !mayThink(provider, modelId)) return { maxOutputTokens: cap };
  const isGoogle = /^google\.(?:generative-ai|vertex\.chat)$/.test(provider);
  const isOwn = asked.providerOptions?.google?.thinkingConfig !== undefined;
  if (!isGoogle || isOwn || cap === undefined || effort === "none" || !GEMINI_BUDGET.test(modelId))
    return { reasoning: effort, maxOutputTokens: cap };
  const thinkingConfig = { thinkingBudget: Math.max(MIN_GEMINI_BUDGET, Math.floor(cap * SHARE[effort])) };
  return { maxOutputTokens: cap, providerOptions: { google: { thinkingConfig } } };
}

/** The share of the output cap that goes to thinking. The rest is for what the model says. */
const SHARE: Readonly<Record<Exclude<Effort, "none">, number>> = {
  minimal: 0.02,
  low: 0.1,
  medium: 0.3,
  high: 0.6,
  xhigh: 0.75,
  max: 0.8,
};
const MIN_GEMINI_BUDGET = 128;
const MIN_CLAUDE_BUDGET = 1024;

const GEMINI_BUDGET = /(?:^|\/)gemini-2\.5/i;
/** Gemini 1 and 2.0, and Gemma. */
const NO_GEMINI_THOUGHT = /(?:^|\/)(?:gemini-(?:1|2\.0|pro)|gemma-)/i;
/** An older model of OpenAI refuses the field; names of others are left to their server. */
const NO_GPT_THOUGHT = /^(?:gpt-3|gpt-4|chatgpt-|gpt-5-chat|gpt-5\.\d+-chat)/;

/** Models that think on servers that speak the chat protocol, and do not show it there. */
const SILENT_THOUGHT = /(?:^|\/)(?:gpt-(?:[5-9]|oss)|o\d|gemini-[2-9]|grok-[4-9])/i;

/** True where a model may write what does not show until it is whole: Google sends a call in one piece, the chat protocol no thoughts. */
export function hidesOutput({ provider, modelId }: { provider: string; modelId: string }, effort?: Effort): boolean {
  if (provider.startsWith("google.")) return true;
  if (effort === "none" || !provider.endsWith(".chat")) return false;
  if (/^(?:openai|azure)\./.test(provider)) return mayThink(provider, modelId);
  return effort !== undefined || SILENT_THOUGHT.test(modelId);
}

function mayThink(provider: string, modelId: string): boolean {
  if (/^(?:openai|azure)\./.test(provider)) return !NO_GPT_THOUGHT.test(modelId);
  return !(provider.startsWith("google.") && NO_GEMINI_THOUGHT.test(modelId));
}

/** Models that cannot think at all. */
const NO_CLAUDE_THOUGHT = /claude-(?:v?[12](?:[-.:]|$)|instant|3(?:-[05]|[.:]|$)|3-(?:opus|sonnet|haiku))/;
/** Models that think with a budget, which the adapter adds to the cap. */
const CLAUDE_BUDGET = /claude-(?:3-7|(?:sonnet|opus|haiku)-4(?:-[0-5](?:-|@|$)|-2025|@|$))/;

function forAnthropic(modelId: string, { effort, cap, providerOptions, isForced }: Asked): Thinking {
  const own = providerOptions?.anthropic?.thinking;
  if (own !== undefined) return withinCap(own, cap);
  const isThinking = effort !== undefined && effort !== "none" && !isForced && !NO_CLAUDE_THOUGHT.test(modelId);
  if (effort === "none" && !NO_CLAUDE_THOUGHT.test(modelId)) return { reasoning: "none", maxOutputTokens: cap };
  if (!isThinking) return { maxOutputTokens: cap };
  if (cap === undefined || !CLAUDE_BUDGET.test(modelId)) return { reasoning: effort, maxOutputTokens: cap };
  return withinCap({ type: "enabled", budgetTokens: Math.floor(cap * SHARE[effort]) }, cap);
}

/** The budget and what is left for the answer. No thinking when the cap has no room for the least budget. */
function withinCap(thinking: unknown, cap: number | undefined): Thinking {
  const budget = isRecord(thinking) && thinking.type === "enabled" ? Number(thinking.budgetTokens) : Number.NaN;
  if (cap === undefined || !(budget > 0)) return { maxOutputTokens: cap };
  if (cap < 2 * MIN_CLAUDE_BUDGET)
    return { maxOutputTokens: cap, providerOptions: { anthropic: { thinking: { type: "disabled" } } } };
  const budgetTokens = Math.min(Math.max(budget, MIN_CLAUDE_BUDGET), cap - MIN_CLAUDE_BUDGET);
  return {
    maxOutputTokens: cap - budgetTokens,
    providerOptions: { anthropic: { thinking: { ...(thinking as object), budgetTokens } } },
  };
}
