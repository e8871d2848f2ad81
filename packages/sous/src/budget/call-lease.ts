/** The reservation of one attempt to call a model. */

import { type Amount, beyond, NO_AMOUNT, smaller, toNanoUsd, wholeUnits } from "../core/amount.ts";
import type { Lease, Spent } from "../core/limits.ts";
import type { Wanted } from "./funds.ts";
import type { Holder } from "./holder.ts";

export class CallLease implements Lease {
  readonly amount: Amount;
  readonly outputCap: number;
  readonly #holder: Holder;
  #isOpen = true;

  constructor(holder: Holder, amount: Amount, outputCap: number) {
    this.#holder = holder;
    this.amount = amount;
    this.outputCap = outputCap;
  }

  /** More than was reserved is counted in full: an overspend is never hidden. */
  settle({ tokens, costUsd }: Spent, lastWords: Amount = NO_AMOUNT): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const spent = {
      tokens: wholeUnits(tokens, this.amount.tokens),
      nanoUsd: wholeUnits(toNanoUsd(costUsd), this.amount.nanoUsd),
    };
    const wanted = beyond(lastWords, this.#holder.kept);
    this.#holder.giveBack(this.amount, spent, smaller(wanted, beyond(this.amount, spent)));
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#holder.giveBack(this.amount, NO_AMOUNT, NO_AMOUNT);
  }
}

/** Takes what a call of this run needs from all its limits. */
export function lend(holder: Holder, wanted: Wanted, output: number, cap: number): CallLease {
  const amount = holder.funds.take(wanted, output);
  holder.inCall = amount;
  holder.kept = {
    tokens: holder.kept.tokens + wanted.grow.tokens - wanted.instead.tokens,
    nanoUsd: holder.kept.nanoUsd + wanted.grow.nanoUsd - wanted.instead.nanoUsd,
  };
  return new CallLease(holder, amount, cap);
}
