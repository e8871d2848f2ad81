/** The facts that a provider sends beside its answer: the size of the prompt at the beginning, and how much of its limit is left. */

import type { RateReport } from "../../core/model.ts";
import { spanMs } from "./error-facts.ts";

type ReportedInput = { inputTokens: number; cachedInputTokens: number; cacheWriteTokens: number };

/** Reads the first event of Anthropic's protocol, which has the usage so far; undefined for other protocols. */
export function inputIn(beginning: string): ReportedInput | undefined {
  if (!beginning.includes('"message_start"')) return undefined;
  const [fresh, cachedInputTokens = 0, cacheWriteTokens = 0] = [FRESH, CACHED, WRITTEN].map((field) => {
    const digits = field.exec(beginning)?.[1];
    return digits === undefined ? undefined : Number(digits);
  });
  if (fresh === undefined) return undefined;
  return { inputTokens: fresh + cachedInputTokens + cacheWriteTokens, cachedInputTokens, cacheWriteTokens };
}

const FRESH = /"input_tokens"\s{0,4}:\s{0,4}(\d{1,9})\b/;
const CACHED = /"cache_read_input_tokens"\s{0,4}:\s{0,4}(\d{1,9})\b/;
const WRITTEN = /"cache_creation_input_tokens"\s{0,4}:\s{0,4}(\d{1,9})\b/;

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
