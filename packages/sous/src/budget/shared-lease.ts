/** The reservation of one call in the ledger of its tree and in the purse it shares with others. */

import type { Clock } from "../core/clock.ts";
import type { CallNeed, Lease, Spent } from "../core/limits.ts";
import { NO_AMOUNT, type PurseNeed } from "../core/purse.ts";
import { amountOf, leastOutput, outputRate, toNanoUsd } from "./meter.ts";
import type { PurseLine } from "./purse-line.ts";

/** Where a tree draws, and by which clock it waits. */
export type Draw = { readonly line: PurseLine; readonly clock: Clock };

export class SharedLease implements Lease {
  readonly outputCap: number;
  readonly #own: Lease;
  readonly #leaseId: string;
  readonly #draw: Draw;
  #isOpen = true;

  constructor(own: Lease, { leaseId, output }: { leaseId: string; output: number }, draw: Draw) {
    this.#own = own;
    this.#leaseId = leaseId;
    this.#draw = draw;
    this.outputCap = Math.min(own.outputCap, output);
  }

  /** The purse first: whoever the ledger serves next asks there at once. */
  settle(spent: Spent): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const amount = { tokens: spent.tokens, nanoUsd: toNanoUsd(spent.costUsd) };
    this.#draw.line.settle(this.#leaseId, amount, this.#draw.clock);
    this.#own.settle(spent);
  }

  /** Both reservations, for whoever takes their place. This one is over. */
  handOver(): { own: Lease; leaseId: string } | undefined {
    if (!this.#isOpen) return undefined;
    this.#isOpen = false;
    return { own: this.#own, leaseId: this.#leaseId };
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#draw.line.settle(this.#leaseId, NO_AMOUNT, this.#draw.clock);
    this.#own[Symbol.dispose]();
  }
}

/** More output than any model gives; keeps what is reserved without a limit within what can be counted. */
const MOST_OUTPUT = 100_000_000;

/** With at most so much output as the ledger has lent. */
export function purseNeed(need: CallNeed, lent: number = Number.POSITIVE_INFINITY): PurseNeed {
  const most = Math.floor(Math.min(need.outputCap, lent, MOST_OUTPUT));
  const perToken = { tokens: 1, nanoUsd: outputRate("costUsd", need.price) };
  const prompt = { tokens: Math.ceil(need.promptTokens), nanoUsd: Math.ceil(amountOf("costUsd", need, 0)) };
  return { prompt, perToken, least: Math.min(leastOutput(need), most), most };
}

/** No more than the least: what is kept for last words. */
export function leastNeed(need: CallNeed): PurseNeed {
  const least = leastOutput(need);
  return purseNeed(need, least);
}
