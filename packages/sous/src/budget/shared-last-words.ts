/** The reserve for last words in the ledger of a tree and in the purse it shares: nobody else can spend what was kept for them. */

import type { CallNeed, Lease, WrapUpLease } from "../core/limits.ts";
import { nowOrLater, type Steps, wait } from "../core/now-or-later.ts";
import { NO_AMOUNT } from "../core/purse.ts";
import { type Draw, leastNeed, purseNeed, SharedLease } from "./shared-lease.ts";

export class SharedLastWords implements WrapUpLease {
  readonly #own: WrapUpLease;
  readonly #draw: Draw;
  #leaseId: string;
  #need: CallNeed;
  #isOpen = true;

  constructor(own: WrapUpLease, leaseId: string, need: CallNeed, draw: Draw) {
    this.#own = own;
    this.#leaseId = leaseId;
    this.#need = need;
    this.#draw = draw;
  }

  resize(need: CallNeed): boolean | Promise<boolean> {
    return nowOrLater(this.#resize(need));
  }

  *#resize(need: CallNeed): Steps<boolean> {
    if (!this.#isOpen || !(yield* wait(this.#own.resize(need)))) return false;
    const { line, clock } = this.#draw;
    const reply = yield* wait(line.ask({ kind: "last-words", need: leastNeed(need), instead: this.#leaseId }, clock));
    if (reply.kind !== "granted") {
      yield* wait(this.#own.resize(this.#need));
      return false;
    }
    this.#leaseId = reply.leaseId;
    this.#need = need;
    // Its run may have ended while the store was asked.
    if (!this.#isOpen) line.settle(reply.leaseId, NO_AMOUNT, clock);
    return this.#isOpen;
  }

  take(need: CallNeed): Lease | undefined | Promise<Lease | undefined> {
    return nowOrLater(this.#take(need));
  }

  *#take(need: CallNeed): Steps<Lease | undefined> {
    if (!this.#isOpen) return undefined;
    const own = yield* wait(this.#own.take(need));
    if (own === undefined) return undefined;
    const { line, clock } = this.#draw;
    try {
      const reply = yield* wait(line.ask({ kind: "call", need: purseNeed(need, own), instead: this.#leaseId }, clock));
      if (reply.kind === "granted") {
        this.#isOpen = false;
        return new SharedLease(own, reply, this.#draw);
      }
    } catch (error) {
      own[Symbol.dispose]();
      throw error;
    }
    own[Symbol.dispose]();
    return undefined;
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#draw.line.settle(this.#leaseId, NO_AMOUNT, this.#draw.clock);
    this.#own[Symbol.dispose]();
  }
}
