/** Reports of a provider beside its answer: the calls that it made by itself and the tokens, both counted for the bill. */

import type {
  LanguageModelV4Source,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import type { ProviderPart } from "../../core/message.ts";
import type { ProviderCalls, ToolDefinition } from "../../core/model.ts";
import { isRecord } from "../../core/schema.ts";
import type { Usage } from "../../core/usage.ts";

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

/** The model that was asked, as its adapter names it, and the tools it was given. */
export type AskedModel = {
  readonly provider: string;
  readonly modelId: string;
  readonly tools: readonly ToolDefinition[];
};

const MAX_SOURCES = 100;

/** The pages that an answer was made from, each once. Some providers report a search by nothing else. */
export class Sources {
  readonly #found = new Map<string, Record<string, string>>();

  /** The size of what is kept of it. */
  add(source: LanguageModelV4Source): number {
    const key = source.sourceType === "url" ? source.url : source.id;
    if (this.#found.has(key) || this.#found.size >= MAX_SOURCES) return 0;
    const { title = "" } = source;
    const named = source.sourceType === "url" ? { url: source.url } : { file: source.filename ?? source.id };
    this.#found.set(key, title === "" ? named : { ...named, title });
    return key.length + title.length;
  }

  list(): Record<string, string>[] {
    return [...this.#found.values()];
  }
}

/** The search behind an answer, where its provider reports it by what it asked and found. Undefined when there is nothing to say. */
export function noteOf(
  found: Sources | undefined,
  finish: Finish | undefined,
  asked: AskedModel,
): ProviderPart | undefined {
  const queries = searchQueries(finish?.providerMetadata);
  const sources = found?.list() ?? [];
  if (sources.length === 0 && queries.length === 0) return undefined;
  return {
    type: "provider",
    kind: "note",
    from: asked.provider,
    callId: "sources",
    toolName: searchTool(asked)?.name ?? "sources",
    value: queries.length === 0 ? { sources } : { queries, sources },
  };
}

/** Counts the uses of each tool of the provider, as the provider bills them. Undefined when none was used. */
export function countCalls(
  parts: readonly { type: string }[],
  finish: Finish | undefined,
  asked: AskedModel,
): ProviderCalls | undefined {
  if (asked.tools.every(({ provider }) => provider === undefined)) return undefined;
  const ids = new Map(asked.tools.flatMap(({ name, provider }) => (provider ? [[name, provider.id] as const] : [])));
  const counts: Record<string, number> = {};
  for (const part of parts) {
    if (!isResult(part) || part.isError === true || isPageView(part.value)) continue;
    const id = ids.get(part.toolName);
    if (id !== undefined) counts[id] = (counts[id] ?? 0) + 1;
  }
  // Anthropic counts searches itself. One that failed is not billed, and one of a program may have no part of its own.
  const searches = reportedSearches(finish?.usage.raw);
  const searching = [...ids.values()].find((id) => id.startsWith("anthropic.web_search"));
  if (searches !== undefined && searching !== undefined) counts[searching] = searches;
  const queries = searchQueries(finish?.providerMetadata).length;
  const grounding = searchTool(asked)?.provider?.id;
  // Google bills queries since Gemini 3, and before that prompts that were grounded.
  if (queries > 0 && grounding !== undefined) counts[grounding] = /gemini-[3-9]/.test(asked.modelId) ? queries : 1;
  const used = Object.entries(counts).filter(([, count]) => count > 0);
  return used.length === 0 ? undefined : Object.fromEntries(used);
}

/** The calls of an answer that was cut. One without a result counts too: it may have been made, and then it is billed. */
export function countBegun(parts: readonly { type: string }[], asked: AskedModel): ProviderCalls | undefined {
  const ended = new Set(parts.filter(isResult).map(({ callId }) => callId));
  const results = parts.map((part) => (isCall(part) && !ended.has(part.callId) ? { ...part, kind: "result" } : part));
  return countCalls(results, undefined, asked);
}

function isCall(part: { type: string }): part is ProviderPart {
  return part.type === "provider" && "kind" in part && part.kind === "call";
}

function isResult(part: { type: string }): part is ProviderPart {
  return part.type === "provider" && "kind" in part && part.kind === "result";
}

/** OpenAI bills searches, not the pages that are opened afterwards. */
function isPageView(value: unknown): boolean {
  const action = isRecord(value) && isRecord(value.action) ? value.action.type : undefined;
  return action === "openPage" || action === "findInPage";
}

function reportedSearches(usage: unknown): number | undefined {
  const reported = isRecord(usage) && isRecord(usage.server_tool_use) ? usage.server_tool_use : {};
  const { web_search_requests: count } = reported;
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

function searchTool({ tools }: AskedModel): ToolDefinition | undefined {
  return tools.find(({ provider }) => provider?.id.startsWith("google.") && provider.id.endsWith("_search"));
}

/** The search queries of Google: under `google`, or under `vertex` where its adapter is asked so. */
function searchQueries(metadata: SharedV4ProviderMetadata | undefined): string[] {
  if (metadata === undefined) return [];
  for (const name of ["google", "vertex", "googleVertex"]) {
    const grounding = metadata[name]?.groundingMetadata;
    if (isRecord(grounding) && Array.isArray(grounding.webSearchQueries))
      return grounding.webSearchQueries.filter((query) => typeof query === "string").slice(0, MAX_SOURCES);
  }
  return [];
}

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
