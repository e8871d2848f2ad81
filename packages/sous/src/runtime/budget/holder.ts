/** A run as the ledger sees it: what it holds, its reserve for last words, and whether it moves or waits. */

import { type Amount, beyond, NO_AMOUNT, plus, toUsd } from "../../core/amount.ts";
import type { CallAsk, Holding, HoldingState, Lease } from "../../core/limits.ts";
import type { Scope } from "../../core/scope.ts";
import type { Funds } from "./funds.ts";
import type { BudgetQueue } from "./queue.ts";

export class Holder implements Holding {
  readonly path: string;
  readonly funds: Funds;
  readonly queue: BudgetQueue;
  /** The run that started it. */
  readonly above: Holder | undefined;
  /** The position among live runs, by their starts. */
  order = 0;
  /** The amount reserved for last words. */
  kept: Amount = NO_AMOUNT;
  /** The amount reserved by calls in flight: one call, unless it prompts an external agent. */
  inCall: Amount = NO_AMOUNT;
  #isLive = false;
  #moves = false;
  /** True while it is in the queue. */
  #isAsking = false;
  #calls = 0;
  /** The number of children that each call waits for. */
  #waitingCalls: Map<string, number> | undefined;
  #waits = 0;
  /** The call of the run above that waits for this one. */
  #awaitedIn: string | undefined;

  constructor(path: string, funds: Funds, queue: BudgetQueue, above: Holder | undefined) {
    this.path = path;
    this.funds = funds;
    this.queue = queue;
    this.above = above;
  }

  /** Makes it one of the runs that draw on its limits. */
  enter(): void {
    this.order = this.queue.nextOrder();
    this.#isLive = true;
    this.queue.add(this);
    this.#judge();
  }

  reserve(ask: CallAsk, scope: Scope): Lease | Promise<Lease> {
    scope.throwIfAborted();
    return this.queue.ask(this, ask, scope);
  }

  keep(lastWords: Amount): void {
    if (this.funds.shared !== undefined) return;
    let kept = beyond(lastWords, this.kept);
    for (const { unit, free } of this.funds.meters) kept = { ...kept, [unit]: Math.max(0, Math.min(kept[unit], free)) };
    this.kept = plus(this.kept, kept);
    for (const meter of this.funds.meters) meter.kept += kept[meter.unit];
  }

  takeStep(): void {
    if (this.clearSettled()) this.queue.changed();
  }

  /** It is no longer about to take its next step. True where it was the last to settle. */
  clearSettled(): boolean {
    let isNews = false;
    for (const meter of this.funds.meters) {
      if (meter.lastSettled !== this) continue;
      meter.lastSettled = undefined;
      isNews = true;
    }
    return isNews;
  }

  runCall(callId?: string): Disposable {
    this.#calls += 1;
    this.#judge();
    this.takeStep();
    return once(() => {
      this.#calls -= 1;
      // A tool may leave a child behind: its run does not wait for that child.
      if (callId !== undefined) this.#waitingCalls?.delete(callId);
      this.#judge();
    });
  }

  wait(callId?: string): Disposable {
    this.#count(callId, 1);
    this.takeStep();
    return once(() => this.#count(callId, -1));
  }

  /** A call of the run above waits for it. */
  beAwaited(callId: string): void {
    if (this.above === undefined) return;
    this.#awaitedIn = callId;
    this.above.#count(callId, 1);
  }

  endAwaited(): void {
    const callId = this.#awaitedIn;
    if (callId === undefined || this.above === undefined) return;
    this.#awaitedIn = undefined;
    this.above.#count(callId, -1);
  }

  /** Set while it asks for budget. */
  set isAsking(isAsking: boolean) {
    this.#isAsking = isAsking;
    this.#judge();
  }

  /** Ends a reservation: counts what was spent, keeps a reserve for last words, and frees the rest. */
  giveBack(reserved: Amount, spent: Amount, keep: Amount): void {
    this.inCall = beyond(this.inCall, reserved);
    this.kept = plus(this.kept, keep);
    for (const meter of this.funds.meters) {
      const { unit } = meter;
      meter.inFlight -= reserved[unit]; // guard: give-back-the-rest
      meter.spent += spent[unit];
      meter.kept += keep[unit];
      if (this.#isLive) meter.lastSettled = this;
      if (meter.comesNear()) this.queue.onNear(meter.state(), this.path);
    }
    this.funds.shared?.changed();
    this.queue.changed();
  }

  /** Gives up its reserve for last words. */
  clearReserve(): void {
    for (const meter of this.funds.meters) meter.kept -= this.kept[meter.unit];
    this.kept = NO_AMOUNT;
    this.funds.shared?.changed();
  }

  state(): HoldingState {
    const shown = ({ tokens, nanoUsd }: Amount) => ({ tokens, costUsd: toUsd(nanoUsd) });
    return { path: this.path, inCall: shown(this.inCall), kept: shown(this.kept), waitsFor: this.queue.waitOf(this) };
  }

  /** The run has ended. */
  [Symbol.dispose](): void {
    if (!this.#isLive) return;
    // First, so that the run above moves before this one stops moving.
    this.endAwaited();
    this.#isLive = false;
    this.queue.holders.delete(this);
    this.clearReserve(); // guard: drop-the-reserve
    this.clearSettled();
    this.#judge();
    this.queue.changed();
  }

  #count(callId: string | undefined, change: 1 | -1): void {
    if (callId === undefined) this.#waits += change;
    else {
      this.#waitingCalls ??= new Map();
      const waits = (this.#waitingCalls.get(callId) ?? 0) + change;
      if (waits > 0) this.#waitingCalls.set(callId, waits);
      else this.#waitingCalls.delete(callId);
    }
    this.#judge();
  }

  /** A run waits when it asks, or when all its calls wait for children. */
  #judge(): void {
    const waiting = this.#waits + (this.#waitingCalls?.size ?? 0);
    const moves = this.#isLive && !this.#isAsking && (waiting === 0 || waiting < this.#calls); // guard: run-moves
    if (moves === this.#moves) return;
    this.#moves = moves;
    for (const meter of this.funds.meters) meter.moving += moves ? 1 : -1;
    if (!moves) this.queue.changed(); // guard: serve-when-a-run-waits
  }
}

function once(end: () => void): Disposable {
  let isOpen = true;
  return {
    [Symbol.dispose]() {
      if (!isOpen) return;
      isOpen = false;
      end();
    },
  };
}
