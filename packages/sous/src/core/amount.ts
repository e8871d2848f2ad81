/** Tokens and money side by side, in whole units, and what a call needs of both. Money is counted in nano-dollars. */

import type { CallNeed } from "./limits.ts";
import type { Price } from "./usage.ts";

export type Amount = { readonly tokens: number; readonly nanoUsd: number };

export type AmountUnit = keyof Amount;

export const UNITS = ["tokens", "nanoUsd"] as const;

export const NO_AMOUNT: Amount = Object.freeze({ tokens: 0, nanoUsd: 0 });

/** An amount that grows with the output: `prompt`, and `perToken` for each token of output between `least` and `most`. */
export type Need = {
  readonly prompt: Amount;
  readonly perToken: Amount;
  /** Output below this is not worth the call. */
  readonly least: number;
  /** The output that a call waits for while something is in flight. */
  readonly enough: number;
  readonly most: number;
};

/** More output than any model gives; keeps what is reserved without a limit within what can be counted. */
const MAX_OUTPUT = 100_000_000;

/** An ordinary call waits for all the output it may have; `enough` says that it would go with less. */
export function toNeed(call: CallNeed, enough = call.outputCap): Need {
  const { promptTokens, outputCap, minOutput, price, wholeUsd = 0 } = call;
  const tokens = Math.max(0, Math.ceil(promptTokens));
  const most = Math.max(0, Math.floor(Math.min(outputCap, MAX_OUTPUT)));
  return {
    prompt: { tokens, nanoUsd: tokens * promptRate(price) + toNanoUsd(wholeUsd) },
    perToken: { tokens: 1, nanoUsd: price === undefined ? 0 : nanoPerToken(price.output) },
    least: Math.max(0, Math.min(minOutput, most)),
    enough: Math.min(enough, most),
    most,
  };
}

/** The most that a call with this much output takes. */
export function amountAt({ prompt, perToken }: Need, output: number): Amount {
  return {
    tokens: prompt.tokens + output * perToken.tokens,
    nanoUsd: prompt.nanoUsd + output * perToken.nanoUsd,
  };
}

/** The most output that `available` pays for after the prompt; negative when it does not even pay for that. */
export function outputThatFits(available: number, forPrompt: number, perToken: number): number {
  if (perToken > 0) return Math.floor((available - forPrompt) / perToken);
  // A call that costs nothing is granted even when the money is spent: of an unknown price only the tokens are enforced.
  return forPrompt <= 0 || forPrompt <= available ? Number.POSITIVE_INFINITY : -1;
}

export function plus(one: Amount, other: Amount): Amount {
  return { tokens: sum(one.tokens, other.tokens), nanoUsd: sum(one.nanoUsd, other.nanoUsd) };
}

/** The part of `one` beyond `other`, unit by unit, and never less than nothing. */
export function beyond(one: Amount, other: Amount): Amount {
  return { tokens: Math.max(0, one.tokens - other.tokens), nanoUsd: Math.max(0, one.nanoUsd - other.nanoUsd) };
}

/** Unit by unit the smaller one. */
export function smaller(one: Amount, other: Amount): Amount {
  return { tokens: Math.min(one.tokens, other.tokens), nanoUsd: Math.min(one.nanoUsd, other.nanoUsd) };
}

/** A provider may report anything: a value that is not a number counts as everything that was reserved. */
export function wholeUnits(reported: number, reserved: number): number {
  if (Number.isNaN(reported)) return reserved;
  return Math.min(Math.max(0, Math.ceil(reported)), Number.MAX_SAFE_INTEGER);
}

export function toNanoUsd(costUsd: number | null): number {
  return costUsd === null ? 0 : Math.round(costUsd * 1e9);
}

export function toUsd(nanoUsd: number): number {
  return nanoUsd / 1e9;
}

/** Databases and JavaScript agree on whole numbers only up to here. */
function sum(one: number, other: number): number {
  return Math.min(one + other, Number.MAX_SAFE_INTEGER);
}

/** A prompt may be written to the cache, which some providers charge more for than reading it plainly. */
function promptRate(price: Price | undefined): number {
  return price === undefined ? 0 : nanoPerToken(Math.max(price.input, price.cacheWrite ?? 0));
}

/** Dollars per million tokens are thousands of nano-dollars per token. Rounded up, but not for noise such as 70.00000000000001. */
function nanoPerToken(price: number): number {
  return Math.ceil(Math.round(price * 1e6) / 1e3);
}
