/** The reservation of one attempt to call a model. */

import type { Lease, Spent } from "../core/limits.ts";
import type { Funds } from "./funds.ts";

export class CallLease implements Lease {
  readonly tokens: number;
  readonly nanoUsd: number;
  readonly outputCap: number;
  readonly #funds: Funds;
  #isOpen = true;

  constructor(funds: Funds, tokens: number, nanoUsd: number, outputCap: number) {
    this.#funds = funds;
    this.tokens = tokens;
    this.nanoUsd = nanoUsd;
    this.outputCap = outputCap;
  }

  /** More than was reserved is counted in full: an overspend is never hidden. */
  settle(spent: Spent): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#funds.giveBack(this, spent.tokens, spent.costUsd);
  }

  /** Frees the amount without serving those who wait: whoever asked for this takes it over, then serves them. */
  handOver(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#funds.withdraw(this);
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#funds.giveBack(this, 0, 0);
  }
}
