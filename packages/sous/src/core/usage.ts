/** Tokens and money: how they are counted and added. */

import { kindOf, type OptionKind } from "./option-kinds.ts";
import { jsonOf } from "./schema.ts";

/** Tokens that were used. */
export type Usage = {
  inputTokens: number;
  outputTokens: number;
  /** The part of `inputTokens` that was read from a prompt cache. */
  cachedInputTokens: number;
  /** The part of `inputTokens` that was written to a prompt cache. */
  cacheWriteTokens: number;
  totalTokens: number;
  /** True when any part of it was estimated because a provider did not report it. */
  estimated: boolean;
};

export function noUsage(): Usage {
  return {
    inputTokens: 0,
    outputTokens: 0,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    totalTokens: 0,
    estimated: false,
  };
}

/** Adds `more` to `sum` in place. */
export function addUsage(sum: Usage, more: Readonly<Usage>): void {
  sum.inputTokens += more.inputTokens;
  sum.outputTokens += more.outputTokens;
  sum.cachedInputTokens += more.cachedInputTokens;
  sum.cacheWriteTokens += more.cacheWriteTokens;
  sum.totalTokens += more.totalTokens;
  if (more.estimated) sum.estimated = true;
}

/** `sum` without a part of it. */
export function usageWithout(sum: Readonly<Usage>, part: Readonly<Usage>): Usage {
  return {
    inputTokens: sum.inputTokens - part.inputTokens,
    outputTokens: sum.outputTokens - part.outputTokens,
    cachedInputTokens: sum.cachedInputTokens - part.cachedInputTokens,
    cacheWriteTokens: sum.cacheWriteTokens - part.cacheWriteTokens,
    totalTokens: sum.totalTokens - part.totalTokens,
    estimated: sum.estimated,
  };
}

/** A sum with one unknown price is unknown. */
export function addCost(sum: number | null, more: number | null): number | null {
  return sum === null || more === null ? null : sum + more;
}

/** US dollars per million tokens; `calls` is US dollars for one call of a tool that the provider runs, by the id of the tool. */
export type Price = {
  input: number;
  output: number;
  cachedInput?: number;
  cacheWrite?: number;
  calls?: Readonly<Record<string, number>>;
};

/** Never a secret, so it is shown as it is. */
export const PRICE: OptionKind<Price> = kindOf("a price: input and output, each 0 or more", isPrice, (value) =>
  (jsonOf(value) ?? String(value)).slice(0, 60),
);

function isPrice(given: unknown): given is Price {
  if (typeof given !== "object" || given === null) return false;
  const { input, output, cachedInput = 0, cacheWrite = 0, calls = {} } = given as Partial<Record<keyof Price, unknown>>;
  if (typeof calls !== "object" || calls === null) return false;
  return [input, output, cachedInput, cacheWrite, ...Object.values(calls)].every(
    (each) => typeof each === "number" && each >= 0 && each < Number.POSITIVE_INFINITY,
  );
}

/**
 * The cost of a call in US dollars; null when the price is unknown, or cannot be: a model may be foreign code. `calls` are those that
 * the provider made with tools of its own.
 */
export function costOf(
  usage: Readonly<Usage>,
  price: Price | undefined,
  calls: Readonly<Record<string, number>> = {},
): number | null {
  if (price === undefined) return null;
  const plain = usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteTokens;
  const cost =
    (plain * price.input +
      usage.cachedInputTokens * (price.cachedInput ?? price.input) +
      usage.cacheWriteTokens * (price.cacheWrite ?? price.input) +
      usage.outputTokens * price.output) /
      1_000_000 +
    feesOf(calls, price);
  return cost >= 0 && cost < Number.POSITIVE_INFINITY ? cost : null;
}

/** The fees of calls; NaN when the price of a tool is unknown. */
function feesOf(calls: Readonly<Record<string, number>>, price: Price): number {
  let fees = 0;
  for (const [toolId, count] of Object.entries(calls)) fees += count * (price.calls?.[toolId] ?? Number.NaN);
  return fees;
}

/** The length of a text in bytes of UTF-8, without encoding it. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    // A surrogate pair is four bytes for two units, so each half counts two; a lone one becomes U+FFFD, three bytes.
    if (unit < 0x800) bytes += 1;
    else if (unit >= 0xd800 && unit <= 0xdbff && isLowSurrogate(text.charCodeAt(index + 1))) {
      bytes += 2;
      index += 1;
    } else bytes += 2;
  }
  return bytes;
}

export function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
