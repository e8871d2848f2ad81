/** The facts that a provider sends beside its answer: the size of the prompt at the beginning, and how much of its limit is left. */

import type { RateReport } from "../../core/model.ts";
import { isRecord } from "../../core/schema.ts";
import type { Usage } from "../../core/usage.ts";
import { spanMs } from "./error-facts.ts";

/** The prompt as the provider has reported it, with the parts that came from its cache or were written to it. */
export type ReportedInput = Pick<Usage, "inputTokens" | "cachedInputTokens" | "cacheWriteTokens">;

/** Reads the first event of Anthropic and of Google, which has the size of the prompt; undefined for other protocols. */
export function inputIn(beginning: string): ReportedInput | undefined {
  const event = firstEvent(beginning);
  const { usage } = recordIn(event.message);
  if (isRecord(usage)) {
    const [fresh, cachedInputTokens = 0, cacheWriteTokens = 0] = [
      countIn(usage.input_tokens),
      countIn(usage.cache_read_input_tokens),
      countIn(usage.cache_creation_input_tokens),
    ];
    if (fresh === undefined) return undefined;
    return { inputTokens: fresh + cachedInputTokens + cacheWriteTokens, cachedInputTokens, cacheWriteTokens };
  }
  const { promptTokenCount, cachedContentTokenCount } = recordIn(event.usageMetadata);
  const inputTokens = countIn(promptTokenCount);
  if (inputTokens === undefined) return undefined;
  const cachedInputTokens = Math.min(countIn(cachedContentTokenCount) ?? 0, inputTokens);
  return { inputTokens, cachedInputTokens, cacheWriteTokens: 0 };
}

const DATA = "data:";

function firstEvent(beginning: string): Record<string, unknown> {
  // The last line may be cut, and then some of its numbers are missing.
  const line = beginning
    .split("\n")
    .slice(0, -1)
    .find((each) => each.startsWith(DATA));
  try {
    return recordIn(JSON.parse(line?.slice(DATA.length) ?? ""));
  } catch {
    return {};
  }
}

function recordIn(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

function countIn(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}

type Headers = Readonly<Record<string, string | undefined>>;

/** Reads the limit of requests in the headers of Anthropic, and of OpenAI and the many that speak its protocol. */
export function rateIn(headers: Headers | undefined, now: number): RateReport | undefined {
  if (headers === undefined) return undefined;
  return (
    reportOf(
      "anthropic-ratelimit-requests-limit",
      "anthropic-ratelimit-requests-remaining",
      "anthropic-ratelimit-requests-reset",
    ) ?? reportOf("x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests")
  );

  function reportOf(most: string, remaining: string, reset: string): RateReport | undefined {
    const [limit, left, resetMs] = [
      whole(headers?.[most]),
      whole(headers?.[remaining]),
      timeUntil(headers?.[reset], now),
    ];
    if (limit === undefined || left === undefined || resetMs === undefined || left >= limit) return undefined;
    return { limit, left, resetMs };
  }
}

function whole(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** A moment, or a span such as `6m0s` or `20ms`. */
function timeUntil(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const moment = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(moment) ? spanMs(text) : Math.max(0, moment - now);
}
