/** A run as the ledger sees it: what it holds, what it keeps for its last words, and whether it moves or waits. */

import { type Amount, beyond, NO_AMOUNT, plus, toUsd } from "../core/amount.ts";
import type { CallAsk, Holding, HoldingState, Lease } from "../core/limits.ts";
import type { Scope } from "../core/scope.ts";
import type { Funds } from "./funds.ts";
import type { Line } from "./line.ts";

export class Holder implements Holding {
  readonly path: string;
  readonly funds: Funds;
  readonly line: Line;
  /** The run that started it. */
  readonly above: Holder | undefined;
  /** Its position among live runs: by their starts. */
  order = 0;
  /** For its last words. */
  kept: Amount = NO_AMOUNT;
  /** By its call in flight. */
  inCall: Amount = NO_AMOUNT;
  #isLive = false;
  #moves = false;
  /** True while it stands in the line. */
  #isAsking = false;
  #calls = 0;
  /** How many children each call waits for. */
  #waitingCalls: Map<string, number> | undefined;
  #waits = 0;
  /** The call of the run above that waits for this one. */
  #awaitedIn: string | undefined;

  constructor(path: string, funds: Funds, line: Line, above: Holder | undefined) {
    this.path = path;
    this.funds = funds;
    this.line = line;
    this.above = above;
  }

  /** From now on it is one of the runs that draw on its limits. */
  enter(): void {
    this.order = this.line.nextOrder();
    this.#isLive = true;
    this.line.add(this);
    this.#judge();
  }

  reserve(ask: CallAsk, scope: Scope): Lease | Promise<Lease> {
    scope.throwIfAborted();
    return this.line.ask(this, ask, scope);
  }

  keep(lastWords: Amount): void {
    if (this.line.isShared) return;
    let kept = beyond(lastWords, this.kept);
    for (const { unit, free } of this.funds.meters) kept = { ...kept, [unit]: Math.max(0, Math.min(kept[unit], free)) };
    this.kept = plus(this.kept, kept);
    for (const meter of this.funds.meters) meter.kept += kept[meter.unit];
  }

  takeStep(): void {
    if (this.clearSettled()) this.line.changed();
  }

  /** It is not about to take its next step any more. True where it was the one that had settled last. */
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
      // A tool may leave a child behind that it has started: its run does not wait for that one.
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

  /** It asks for budget, or does not any more. */
  set isAsking(isAsking: boolean) {
    this.#isAsking = isAsking;
    this.#judge();
  }

  /** Ends a reservation: its amount is free again, what was really spent is gone, and some is kept for last words. */
  giveBack(reserved: Amount, spent: Amount, keep: Amount): void {
    this.inCall = NO_AMOUNT;
    this.kept = plus(this.kept, keep);
    for (const meter of this.funds.meters) {
      const { unit } = meter;
      meter.inFlight -= reserved[unit];
      meter.spent += spent[unit];
      meter.kept += keep[unit];
      if (this.#isLive) meter.lastSettled = this;
      if (meter.comesNear()) this.line.onNear(meter.state(), this.path);
    }
    this.line.changed();
  }

  /** What it kept is not its own any more. */
  clearReserve(): void {
    for (const meter of this.funds.meters) meter.kept -= this.kept[meter.unit];
    this.kept = NO_AMOUNT;
  }

  state(): HoldingState {
    const shown = ({ tokens, nanoUsd }: Amount) => ({ tokens, costUsd: toUsd(nanoUsd) });
    return { path: this.path, inCall: shown(this.inCall), kept: shown(this.kept), waitsFor: this.line.waitOf(this) };
  }

  /** The run has ended. */
  [Symbol.dispose](): void {
    if (!this.#isLive) return;
    // First of all, so that the run above moves before others are told that this one does not.
    this.endAwaited();
    this.#isLive = false;
    this.line.holders.delete(this);
    this.clearReserve();
    this.clearSettled();
    this.#judge();
    this.line.changed();
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

  /** It waits when nothing of it does anything: it asks, or all its calls wait for children. */
  #judge(): void {
    const waiting = this.#waits + (this.#waitingCalls?.size ?? 0);
    const moves = this.#isLive && !this.#isAsking && (waiting === 0 || waiting < this.#calls);
    if (moves === this.#moves) return;
    this.#moves = moves;
    for (const meter of this.funds.meters) meter.moving += moves ? 1 : -1;
    if (!moves) this.line.changed();
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
