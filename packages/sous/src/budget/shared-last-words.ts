/** The reserve for last words in the ledger of a tree and in the purse it shares: nobody else can spend what was kept for them. */

import type { CallNeed, Lease, WrapUpLease } from "../core/limits.ts";
import { nowOrLater, type Steps, wait } from "../core/now-or-later.ts";
import { NO_AMOUNT } from "../core/purse.ts";
import type { PurseReply } from "../core/shared-budget.ts";
import type { Ledger } from "./ledger.ts";
import { type Draw, leastNeed, purseNeed, SharedLease } from "./shared-lease.ts";

type Own = ReturnType<Ledger["reserveWrapUp"]>;

/** Changes go through the purse first: the ledger serves whoever waits for it as soon as it has changed, the purse does not. */
export class SharedLastWords implements WrapUpLease {
  readonly #own: Own;
  readonly #draw: Draw;
  #leaseId: string;
  #need: CallNeed;
  #isOpen = true;

  /** What the ledger keeps, and under which id the purse keeps the same. */
  constructor(own: Own, leaseId: string, need: CallNeed, draw: Draw) {
    this.#own = own;
    this.#leaseId = leaseId;
    this.#need = need;
    this.#draw = draw;
  }

  resize(need: CallNeed): boolean | Promise<boolean> {
    return nowOrLater(this.#resize(need));
  }

  *#resize(need: CallNeed): Steps<boolean> {
    if (!this.#isOpen || (yield* this.#keep(need)).kind !== "granted") return false;
    if (this.#isOpen && this.#own.resize(need)) {
      this.#need = need;
      return true;
    }
    yield* this.#restore();
    return false;
  }

  take(need: CallNeed): Lease | undefined | Promise<Lease | undefined> {
    return nowOrLater(this.#take(need));
  }

  *#take(need: CallNeed): Steps<Lease | undefined> {
    if (!this.#isOpen) return undefined;
    const { line, clock } = this.#draw;
    const ask = { kind: "call", need: purseNeed(need), instead: this.#leaseId } as const;
    const reply = yield* wait(line.ask(ask, clock));
    if (reply.kind !== "granted") return undefined;
    this.#leaseId = reply.leaseId;
    const own = this.#isOpen
      ? this.#own.take({ ...need, outputCap: Math.min(need.outputCap, reply.output) })
      : undefined;
    if (own !== undefined) {
      this.#isOpen = false;
      return new SharedLease(own, reply, this.#draw);
    }
    yield* this.#restore();
    return undefined;
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#draw.line.settle(this.#leaseId, NO_AMOUNT, this.#draw.clock);
    this.#own[Symbol.dispose]();
  }

  /** Makes the purse keep this much. */
  *#keep(need: CallNeed): Steps<PurseReply> {
    const { line, clock } = this.#draw;
    const reply = yield* wait(line.ask({ kind: "last-words", need: leastNeed(need), instead: this.#leaseId }, clock));
    if (reply.kind === "granted") this.#leaseId = reply.leaseId;
    return reply;
  }

  /**
   * The ledger could not do the same, so the purse keeps again what it kept. If somebody was faster nothing is kept any
   * more; and nothing is if the run has ended while the store was asked.
   */
  *#restore(): Steps<void> {
    const { line, clock } = this.#draw;
    if (this.#isOpen && (yield* this.#keep(this.#need)).kind === "granted") return;
    if (this.#isOpen) this[Symbol.dispose]();
    else line.settle(this.#leaseId, NO_AMOUNT, clock);
  }
}
