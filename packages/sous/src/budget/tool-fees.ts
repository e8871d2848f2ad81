/**
 * What providers charge for one call of a tool that they run themselves, in US dollars, besides the tokens. Read in 2026: Google's from
 * its pages and forum, OpenAI's web search from its forum; OpenAI's file search and Anthropic's tools from what others say of their price
 * lists. Prices change, and the bill of the provider counts: `calls` of a price goes before this table. Free quotas are not counted, and
 * where a price depends on the model the higher one stands here. Not listed, so their cost is unknown: tools whose price depends on time or size, such
 * as containers, and tools for which no price was found.
 */

import type { Model } from "../core/model.ts";
import type { Price } from "../core/usage.ts";

const FEES: readonly (readonly [idStart: string, usd: number])[] = [
  ["anthropic.web_search_", 0.01],
  ["anthropic.web_fetch_", 0],
  ["openai.web_search_preview", 0.025],
  ["openai.web_search", 0.01],
  ["openai.file_search", 0.0025],
  ["google.url_context", 0],
  ["google.code_execution", 0],
  ["google.google_maps", 0.025],
];

/** Google bills each query since Gemini 3, and before that each prompt that searched. */
const SEARCH_QUERY = 0.014;
const SEARCH_PROMPT = 0.035;

/** The price with the fees of these tools, as far as they are known. What the price itself says goes before the table. */
export function withFees(
  { id: modelId }: Pick<Model, "id">,
  price: Price | undefined,
  toolIds: readonly string[],
): Price | undefined {
  if (price === undefined || toolIds.length === 0) return price;
  const calls: Record<string, number> = {};
  for (const id of toolIds) {
    const fee = price.calls?.[id] ?? toolFee(id, modelId);
    if (fee !== undefined) calls[id] = fee;
  }
  return { ...price, calls };
}

/** Undefined when it is not known. */
function toolFee(toolId: string, modelId: string): number | undefined {
  if (toolId === "google.google_search") return /gemini-[3-9]/.test(modelId) ? SEARCH_QUERY : SEARCH_PROMPT;
  return FEES.find(([idStart]) => toolId.startsWith(idStart))?.[1];
}
