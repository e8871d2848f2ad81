/** The needs of the runs of R15, in tokens and money: for each call, for their last words, and all in all. */

import { type Amount, amountAt, NO_AMOUNT, plus, toNanoUsd, toNeed, type UNITS } from "../../src/core/amount.ts";
import type { CallNeed, Spent } from "../../src/core/limits.ts";
import type { Price } from "../../src/core/usage.ts";
import { childrenOf, OUTPUT_CAP, promptsOf, type RunSpec, type TurnSpec } from "./r15-specs.ts";

/** An attempt that broke off is charged with its prompt and this much output. */
const BROKEN_OFF = 50;

export const CLOSING_OUTPUT = 512;

/** Only what was added since the last answer is estimated, and never too low. */
export function estimate(known: number, { added, slack }: Pick<TurnSpec, "added" | "slack">): number {
  return known + Math.ceil(added * (1 + slack));
}

export function callNeed(promptTokens: number, price: Price | undefined): CallNeed {
  return { promptTokens, outputCap: OUTPUT_CAP, minOutput: 512, price };
}

/** The last turn: a short answer. */
export function closingNeed(promptTokens: number, price: Price | undefined): CallNeed {
  return { promptTokens, outputCap: CLOSING_OUTPUT, minOutput: 64, price };
}

/** What is kept for last words in a conversation of this length. */
export function lastWordsAt(prompt: number, price: Price | undefined): Amount {
  const need = toNeed({ promptTokens: prompt, outputCap: CLOSING_OUTPUT, minOutput: 64, price });
  return amountAt(need, CLOSING_OUTPUT);
}

/** What the provider bills. */
export function bill(prompt: number, output: number, price: Price | undefined): Spent {
  const costUsd = price === undefined ? null : (prompt * price.input + output * price.output) / 1e6;
  return { tokens: prompt + output, costUsd };
}

export function billBroken(promptTokens: number, price: Price | undefined): Spent {
  return bill(promptTokens, BROKEN_OFF, price);
}

/** What a run and all its children take if they complete, what their largest call reserves, and what each keeps at most. */
export type TreeNeeds = { readonly all: Amount; readonly largestCall: Amount; readonly reserves: readonly Amount[] };

export function needsOf(run: RunSpec): TreeNeeds {
  let all = NO_AMOUNT;
  let largestCall = NO_AMOUNT;
  let reserve = NO_AMOUNT;
  for (const [index, prompt] of promptsOf(run).entries()) {
    const turn = run.turns[index] as TurnSpec;
    const { added, output } = turn;
    const promptTokens = estimate(prompt - added, turn);
    const full = toNeed(callNeed(promptTokens, run.price));
    all = plus(all, amountOf(bill(prompt, output, run.price)));
    for (const { isBilled } of turn.failures) {
      if (isBilled) all = plus(all, amountOf(billBroken(promptTokens, run.price)));
    }
    largestCall = larger(largestCall, amountAt(full, OUTPUT_CAP));
    reserve = larger(reserve, lastWordsAt(Math.max(promptTokens, prompt + output), run.price));
  }
  return together([{ all, largestCall, reserves: [reserve] }, ...childrenOf(run).map(needsOf)]);
}

export function together(needs: readonly TreeNeeds[]): TreeNeeds {
  return {
    all: sumOf(needs.map(({ all }) => all)),
    largestCall: needs.map(({ largestCall }) => largestCall).reduce(larger, NO_AMOUNT),
    reserves: needs.flatMap(({ reserves }) => reserves),
  };
}

/** The reserves of the `live` runs that keep most. */
function largestReserves({ reserves }: TreeNeeds, live: number): Amount {
  const most = (unit: (typeof UNITS)[number]): number => {
    const sorted = reserves.map((each) => each[unit]).sort((one, other) => other - one);
    return sorted.slice(0, live).reduce((sum, each) => sum + each, 0);
  };
  return { tokens: most("tokens"), nanoUsd: most("nanoUsd") };
}

/** All needs, one full reservation and the reserves of those live at once: with this much everything completes. */
export function enoughFor(needs: TreeNeeds, live = needs.reserves.length): Amount {
  return sumOf([needs.all, needs.largestCall, largestReserves(needs, live)]);
}

function sumOf(amounts: readonly Amount[]): Amount {
  return amounts.reduce(plus, NO_AMOUNT);
}

function amountOf({ tokens, costUsd }: Spent): Amount {
  return { tokens, nanoUsd: toNanoUsd(costUsd) };
}

function larger(one: Amount, other: Amount): Amount {
  return { tokens: Math.max(one.tokens, other.tokens), nanoUsd: Math.max(one.nanoUsd, other.nanoUsd) };
}
