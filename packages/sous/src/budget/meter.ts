/** One limit of one account: what may be spent, has been spent and is reserved. Money is counted in whole nano-dollars. */

import { BudgetExceeded } from "../core/errors.ts";
import type { CallNeed } from "../core/limits.ts";
import { outputThatFits } from "../core/purse.ts";
import type { Price } from "../core/usage.ts";

export type Unit = "tokens" | "costUsd";

export class Meter {
  readonly unit: Unit;
  readonly limit: number;
  spent = 0;
  /** Reserved by calls: comes back, at least in part, when they end. */
  inFlight = 0;
  /** Reserved for last words: not to be waited for. */
  kept = 0;
  /** In which round of serving the line somebody was found short here; whoever comes later has to queue. */
  shortInRound = 0;

  constructor(unit: Unit, limit: number) {
    this.unit = unit;
    this.limit = limit;
  }

  get free(): number {
    return this.limit - this.spent - this.inFlight - this.kept;
  }

  /** What would be free if every call in flight gave all of its reservation back. */
  get reachable(): number {
    return this.limit - this.spent - this.kept;
  }

  exceededBy(asked: number): BudgetExceeded {
    const used = this.spent + this.inFlight + this.kept + asked;
    return this.unit === "tokens"
      ? new BudgetExceeded("tokens", used, this.limit)
      : new BudgetExceeded("costUsd", toUsd(used), toUsd(this.limit));
  }
}

/** True when `available` does not pay for the prompt and the least output. */
export function isShort(unit: Unit, available: number, need: CallNeed): boolean {
  return affordableOutput(unit, available, need) < leastOutput(need);
}

/** The most output that `available` pays for after the prompt; negative when it does not even pay for that. */
export function affordableOutput(unit: Unit, available: number, need: CallNeed): number {
  const forPrompt = amountOf(unit, need, 0);
  return outputThatFits(available, forPrompt, outputRate(unit, need.price));
}

/** What a call with this much output takes from a meter of this unit, at most. */
export function amountOf(unit: Unit, need: CallNeed, output: number): number {
  const rate = outputRate(unit, need.price);
  return need.promptTokens * promptRate(unit, need.price) + (rate === 0 ? 0 : output * rate);
}

/** The output without which the call is not worth making. */
export function leastOutput(need: CallNeed): number {
  return Math.max(0, Math.min(need.minOutput, need.outputCap));
}

/** A prompt may be written to the cache, which some providers charge more for than reading it plainly. */
function promptRate(unit: Unit, price: Price | undefined): number {
  if (unit === "tokens") return 1;
  return price === undefined ? 0 : nanoPerToken(Math.max(price.input, price.cacheWrite ?? 0));
}

export function outputRate(unit: Unit, price: Price | undefined): number {
  if (unit === "tokens") return 1;
  return price === undefined ? 0 : nanoPerToken(price.output);
}

/** Dollars per million tokens are thousands of nano-dollars per token. Rounded up, but not for noise such as 70.00000000000001. */
function nanoPerToken(price: number): number {
  return Math.ceil(Math.round(price * 1e6) / 1e3);
}

export function toNanoUsd(costUsd: number | null): number {
  return costUsd === null ? 0 : Math.round(costUsd * 1e9);
}

export function toUsd(nanoUsd: number): number {
  return nanoUsd / 1e9;
}
