/** The tokens and the money that a call needs, and those of a run's last words. */

import { type Amount, amountAt, NO_AMOUNT, toNeed } from "../../core/amount.ts";
import { type CallNeed, type Lease, METERED_OUTPUT } from "../../core/limits.ts";
import type { Run, RunProfile } from "../../core/run.ts";
import type { AskOptions } from "../../core/tree-ports.ts";

/** A call with less output than this is not made. */
const MIN_OUTPUT = 512;
export const LAST_WORDS_OUTPUT = 512;
const MIN_LAST_WORDS = 64;
/** More tokens than the notice that asks for last words has. */
const WRAP_UP_NOTICE = 64;

/** The lease of the first call. Text that was added to the prompt since then, such as a message, is taken from the output. */
export function coveringLease(
  { lease, promptTokens }: NonNullable<Run["firstCall"]>,
  need: CallNeed,
): Lease | undefined {
  const added = Math.max(0, need.promptTokens - promptTokens);
  const outputCap = lease.outputCap - added;
  const { input = 0, cacheWrite = 0, output = 0 } = need.price ?? {};
  // Only where a token of the output is no cheaper than one of the prompt.
  if (outputCap < need.minOutput || output < Math.max(input, cacheWrite)) return added === 0 ? lease : undefined;
  if (added === 0) return lease;
  const settle: Lease["settle"] = (spent, lastWords) => lease.settle(spent, lastWords);
  return { outputCap, settle, [Symbol.dispose]: () => lease[Symbol.dispose]() };
}

/** Last words need the prompt and a short answer. */
function lastWordsNeed(promptTokens: number, { price }: Pick<RunProfile, "price">): CallNeed {
  return { promptTokens, outputCap: LAST_WORDS_OUTPUT, minOutput: MIN_LAST_WORDS, price };
}

export function needOf(
  { conversation: { promptTokens }, profile, isExhausted }: Run,
  { closing }: AskOptions,
): CallNeed {
  if (!closing) return callNeed(promptTokens, profile);
  // A summary or a repaired output is a whole answer; the reserve is enough to begin it.
  return isExhausted
    ? lastWordsNeed(promptTokens, profile)
    : { ...plainNeed(promptTokens, profile), minOutput: MIN_LAST_WORDS };
}

/** The need of an ordinary call. */
export function callNeed(promptTokens: number, profile: Pick<RunProfile, "settings" | "price" | "tools">): CallNeed {
  const need = plainNeed(promptTokens, profile);
  const wholeUsd = feesOfCall(profile);
  return wholeUsd === 0 ? need : { ...need, wholeUsd };
}

/** Expected uses of a provider's tool in one call, where its settings set no limit. */
const EXPECTED_USES = 5;

/** The most that a provider is expected to charge for tools of its own during one call. */
function feesOfCall({ price, tools }: Pick<RunProfile, "price" | "tools">): number {
  if (price?.calls === undefined) return 0;
  let fees = 0;
  for (const { provider } of tools.definitions) {
    if (provider?.runsThere !== true) continue;
    const { maxUses } = provider.args;
    fees += (price.calls[provider.id] ?? 0) * (typeof maxUses === "number" ? maxUses : EXPECTED_USES);
  }
  return fees;
}

/** A call in which the provider runs no tools of its own. */
function plainNeed(promptTokens: number, { settings, price }: Pick<RunProfile, "settings" | "price">): CallNeed {
  const outputCap = settings.maxOutputTokens ?? METERED_OUTPUT;
  return { promptTokens, outputCap, minOutput: Math.min(MIN_OUTPUT, outputCap), price };
}

/** The reserve of a run for its last words. Nothing when it has to stop at once. */
export function reserveFor({ profile, tree }: Run, promptTokens: number): Amount {
  if (tree.onExhausted === "stop") return NO_AMOUNT;
  return amountAt(toNeed(lastWordsNeed(promptTokens + WRAP_UP_NOTICE, profile)), LAST_WORDS_OUTPUT);
}
