/** The price and the context window of a model, and the fees of its tools: as the user, the model itself or the shipped tables say. */

import { type Model, withoutVersion } from "../../core/model.ts";
import type { Price } from "../../core/usage.ts";

/**
 * The facts are from the public lists models.dev (2026-07-02) and litellm (2026-08-08); where they differ, the higher price
 * and the smaller window. Some providers charge more for prompts over 200,000 tokens: the table has the plain tariff.
 */
export const PRICES_AS_OF = "2026-08-08";

/** US dollars per million tokens, then tokens; null where the provider has no such tariff. */
export type PriceRow = readonly [
  input: number,
  output: number,
  cachedInput: number | null,
  cacheWrite: number | null,
  contextWindow: number,
];

/** Prices by provider, then by the name of the model without its date. A dated name has a row only where its price differs. */
export const PRICES: Readonly<Record<string, Readonly<Record<string, PriceRow>>>> = {
  anthropic: {
    "claude-fable-5": [10, 50, 1, 12.5, 1_000_000],
    "claude-opus-5": [5, 25, 0.5, 6.25, 1_000_000],
    "claude-opus-4-8": [5, 25, 0.5, 6.25, 1_000_000],
    "claude-opus-4-7": [5, 25, 0.5, 6.25, 1_000_000],
    "claude-opus-4-6": [5, 25, 0.5, 6.25, 1_000_000],
    "claude-opus-4-5": [5, 25, 0.5, 6.25, 200_000],
    "claude-opus-4-1": [15, 75, 1.5, 18.75, 200_000],
    "claude-opus-4-0": [15, 75, 1.5, 18.75, 200_000],
    "claude-opus-4": [15, 75, 1.5, 18.75, 200_000],
    "claude-sonnet-5": [2, 10, 0.2, 2.5, 1_000_000],
    "claude-sonnet-4-6": [3, 15, 0.3, 3.75, 1_000_000],
    "claude-sonnet-4-5": [3, 15, 0.3, 3.75, 200_000],
    "claude-sonnet-4-0": [3, 15, 0.3, 3.75, 200_000],
    "claude-sonnet-4": [3, 15, 0.3, 3.75, 200_000],
    "claude-haiku-4-5": [1, 5, 0.1, 1.25, 200_000],
  },
  openai: {
    "gpt-5.6": [5, 30, 0.5, 6.25, 1_050_000],
    "gpt-5.6-sol": [5, 30, 0.5, 6.25, 1_050_000],
    "gpt-5.6-terra": [2, 12, 0.2, 2.5, 1_050_000],
    "gpt-5.6-luna": [0.2, 1.2, 0.02, 0.25, 1_050_000],
    "gpt-5.5": [5, 30, 0.5, null, 1_050_000],
    "gpt-5.5-pro": [30, 180, null, null, 1_050_000],
    "gpt-5.4": [2.5, 15, 0.25, null, 1_050_000],
    "gpt-5.4-pro": [30, 180, null, null, 1_050_000],
    "gpt-5.4-mini": [0.75, 4.5, 0.075, null, 400_000],
    "gpt-5.4-nano": [0.2, 1.25, 0.02, null, 400_000],
    "gpt-5.3-codex": [1.75, 14, 0.175, null, 400_000],
    "gpt-5.2": [1.75, 14, 0.175, null, 400_000],
    "gpt-5.2-codex": [1.75, 14, 0.175, null, 400_000],
    "gpt-5.2-pro": [21, 168, null, null, 400_000],
    "gpt-5.1": [1.25, 10, 0.125, null, 400_000],
    "gpt-5.1-codex": [1.25, 10, 0.125, null, 400_000],
    "gpt-5.1-codex-max": [1.25, 10, 0.125, null, 400_000],
    "gpt-5.1-codex-mini": [0.25, 2, 0.025, null, 400_000],
    "gpt-5": [1.25, 10, 0.125, null, 400_000],
    "gpt-5-codex": [1.25, 10, 0.125, null, 400_000],
    "gpt-5-mini": [0.25, 2, 0.025, null, 400_000],
    "gpt-5-nano": [0.05, 0.4, 0.005, null, 400_000],
    "gpt-5-pro": [15, 120, null, null, 400_000],
    "gpt-4.1": [2, 8, 0.5, null, 1_047_576],
    "gpt-4.1-mini": [0.4, 1.6, 0.1, null, 1_047_576],
    "gpt-4.1-nano": [0.1, 0.4, 0.025, null, 1_047_576],
    "gpt-4o": [2.5, 10, 1.25, null, 128_000],
    "gpt-4o-2024-05-13": [5, 15, null, null, 128_000],
    "gpt-4o-mini": [0.15, 0.6, 0.075, null, 128_000],
    "o4-mini": [1.1, 4.4, 0.275, null, 200_000],
    o3: [2, 8, 0.5, null, 200_000],
    "o3-pro": [20, 80, null, null, 200_000],
    "o3-mini": [1.1, 4.4, 0.55, null, 200_000],
    o1: [15, 60, 7.5, null, 200_000],
    "o1-pro": [150, 600, null, null, 200_000],
  },
  google: {
    "gemini-3.6-flash": [1.5, 7.5, 0.15, null, 1_048_576],
    "gemini-3.5-flash": [1.5, 9, 0.15, null, 1_048_576],
    "gemini-3.5-flash-lite": [0.3, 2.5, 0.03, null, 1_048_576],
    "gemini-3.1-pro-preview": [2, 12, 0.2, null, 1_048_576],
    "gemini-3.1-flash-lite": [0.25, 1.5, 0.025, null, 1_048_576],
    "gemini-3.1-flash-lite-preview": [0.25, 1.5, 0.025, null, 1_048_576],
    "gemini-3-pro-preview": [2, 12, 0.2, null, 1_048_576],
    "gemini-3-flash-preview": [0.5, 3, 0.05, null, 1_048_576],
    "gemini-2.5-pro": [1.25, 10, 0.125, null, 1_048_576],
    "gemini-2.5-flash": [0.3, 2.5, 0.03, null, 1_048_576],
    "gemini-2.5-flash-lite": [0.1, 0.4, 0.01, null, 1_048_576],
    "gemini-2.0-flash": [0.1, 0.4, 0.025, null, 1_048_576],
    "gemini-2.0-flash-lite": [0.075, 0.3, null, null, 1_048_576],
  },
};

type ModelFacts = { price: Price; contextWindow: number };

/**
 * Finds `provider/model`, also with a version behind it (`-20250929`, `-2025-04-14`, `-001`, `@20251101`). Undefined when
 * the table does not know it: then the cost is shown as unknown, and where money is limited the model is refused. That includes
 * local models, because their cost is unknown.
 */
export function priceOf(modelId: string): ModelFacts | undefined {
  const { row } = rowOf(modelId) ?? {};
  return row === undefined ? undefined : toFacts(row);
}

/**
 * The name of the row that has the price of a model, with its provider: names with any version behind them have one. Undefined when
 * the table does not know it.
 */
export function pricedName(modelId: string): string | undefined {
  return rowOf(modelId)?.name;
}

function rowOf(modelId: string): { readonly name: string; readonly row: PriceRow } | undefined {
  const slash = modelId.indexOf("/");
  const provider = modelId.slice(0, slash);
  const models = ownValue(PRICES, ownValue(SAME_PRICES, provider) ?? provider);
  if (models === undefined) return undefined;
  const given = modelId.slice(slash + 1);
  for (const name of [given, withoutVersion(given)]) {
    const row = ownValue(models, name);
    if (row !== undefined) return { name: `${provider}/${name}`, row };
  }
  return undefined;
}

/** The price that the user set, else that of the model itself, else that of the table. */
export function priceFor({ id, price }: Pick<Model, "id" | "price">, users: Prices = {}): Price | undefined {
  return ownValue(users, id) ?? price ?? priceOf(id)?.price;
}

type Prices = Readonly<Record<string, Price>>;

/** Providers with the same models at the same prices. */
const SAME_PRICES: Readonly<Record<string, string>> = { "openai-chat": "openai" };

/** Names come from people: `constructor` is not a model. */
function ownValue<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function toFacts([input, output, cachedInput, cacheWrite, contextWindow]: PriceRow): ModelFacts {
  const price: Price = { input, output };
  if (cachedInput !== null) price.cachedInput = cachedInput;
  if (cacheWrite !== null) price.cacheWrite = cacheWrite;
  return { price, contextWindow };
}

/**
 * Fees of providers for one call of a tool that they run themselves, in US dollars, besides the tokens. Read in 2026: Google's from
 * its pages and forum, OpenAI's web search from its forum; OpenAI's file search and Anthropic's tools from what others say of their price
 * lists. Free quotas are not counted, and where a price depends on the model the higher one stands here. Not listed, so their
 * cost is unknown: tools whose price depends on time or size, such as containers, and tools for which no price was found.
 */
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
