/**
 * The line of a tree: who waits for budget or to start, in which order, and who is refused when nothing moves. Live runs come
 * first, by their starts; then children that wait to start, by the order of their calls.
 */

import { NO_AMOUNT, toNeed } from "../core/amount.ts";
import { ToolFailure } from "../core/errors.ts";
import type { CallAsk, Lease, LimitState, StartAsk, Started } from "../core/limits.ts";
import type { Scope } from "../core/scope.ts";
import { lend } from "./funds.ts";
import type { Holder } from "./holder.ts";
import type { Meter } from "./meter.ts";
import type { PurseLine } from "./purse-line.ts";
import type { Slots } from "./run-slots.ts";
import { type Granted, insert, remove, Waiter } from "./waiter.ts";

/** Told when most of a limit is spent, with the run that came near it, if that is known. */
export type OnNear = (limit: LimitState, path: string | undefined) => void;

/** The latest number in the order of starts; trees that share a budget are compared by it. */
let orders = 0;

export class Line {
  /** The live runs that draw on a limit. */
  readonly holders = new Set<Holder>();
  readonly slots: Slots;
  readonly #purse: PurseLine | undefined;
  readonly onNear: OnNear;
  readonly #live: Waiter[] = [];
  readonly #starters: Waiter[] = [];
  /** How many of them need nothing but a slot. */
  #needless = 0;
  /** Those who have not been told yet that they wait for budget. */
  readonly #untold = new Set<Waiter>();
  /** The limits at which a call was found short in the last round. */
  readonly #short = new Set<Meter>();
  /** Those of them that every run of the tree draws on. */
  #heldUp: Meter[] = [];
  /** Those whom nothing but the purse can hold up. */
  #candidates: Waiter[] = [];
  #round = 0;
  #isServing = false;
  #isServedAgain = false;

  constructor(slots: Slots, purse: PurseLine | undefined, onNear: OnNear) {
    this.slots = slots;
    this.#purse = purse;
    this.onNear = onNear;
    slots.onFree = () => this.serve();
  }

  get isShared(): boolean {
    return this.#purse !== undefined;
  }

  /** A run that draws on a limit has started. */
  add(holder: Holder): void {
    this.holders.add(holder);
    this.#purse?.join(this);
  }

  nextOrder(): number {
    orders += 1;
    return orders;
  }

  /** One call of a live run. */
  ask(holder: Holder, { need, lastWords, closing, replaces, onWait }: CallAsk, scope: Scope): Lease | Promise<Lease> {
    const request = {
      need: toNeed(need, closing?.enoughOutput),
      lastWords,
      isClosing: closing !== undefined,
      onWait,
      onRefused: () => {},
    };
    const waiter = new Waiter(holder, request, holder.order, false);
    insert(this.#live, waiter);
    this.#untold.add(waiter);
    // Only now that it stands in the line: what there is goes to the first in order, and that may be this run.
    replaces?.[Symbol.dispose]();
    holder.clearSettled();
    if (!waiter.isSettled) holder.isAsking = true;
    this.serve();
    const granted = waiter.outcome(scope, () => this.#leave(waiter));
    return granted instanceof Promise ? granted.then(leaseOf) : leaseOf(granted);
  }

  /** A child that starts as soon as a slot and its first call can be had in one step. */
  start(holder: Holder, ask: StartAsk): Started | Promise<Started> {
    const { path, need, callId, isCounted, scope, onWait, onRefused } = ask;
    // One that had begun before a restart waits for its slot, and is not ended because another came first.
    if (isCounted !== true && this.slots.refusesWhenFull && this.slots.free <= this.#starters.length)
      throw new ToolFailure(
        `maximum concurrent subagent limit reached, so ${path} did not start. Try again when another subagent completes.`,
      );
    const request = { need: need && toNeed(need), lastWords: NO_AMOUNT, isClosing: false, onWait, onRefused };
    const waiter = new Waiter(holder, request, this.nextOrder(), true);
    this.#starters.push(waiter);
    if (need === undefined) this.#needless += 1;
    this.#untold.add(waiter);
    this.#purse?.join(this);
    // Only now that the child is in the queue: before that, another would be refused instead of it.
    if (callId !== undefined) holder.beAwaited(callId);
    // Without this it would first wait for a slot.
    if (!waiter.isSettled) this.#refuseIfHopeless(waiter);
    this.serve();
    const started = ({ slot, lease }: Granted) => ({ holding: holder, slot: held(slot), first: lease });
    const granted = waiter.outcome(scope, () => {
      holder.endAwaited();
      onRefused();
      this.#leave(waiter);
    });
    return granted instanceof Promise ? granted.then(started) : started(granted);
  }

  /** Children that wait to start and came before one that would come now. */
  get waitsToStart(): number {
    return this.#starters.length;
  }

  /** The limit that a run waits for. */
  waitOf(holder: Holder): LimitState | undefined {
    const waiter = this.#live.find((each) => each.holder === holder);
    return waiter && (this.#shortFor(waiter)?.state() ?? waiter.waitsFor);
  }

  /** Something was given back or spent. */
  changed(): void {
    this.serve();
    this.#purse?.pump();
  }

  /** Serves those who wait, in order; when nothing moves any more and the first cannot be served, the last is refused. */
  serve(): void {
    if (this.#live.length + this.#starters.length === 0) return;
    if (this.#isServing) {
      this.#isServedAgain = true;
      return;
    }
    this.#isServing = true;
    try {
      do {
        this.#isServedAgain = false;
        this.#serveOnce();
        if (this.#purse !== undefined) this.#purse.pump();
      } while (this.#isServedAgain || this.#refuseIfStuck());
    } finally {
      this.#isServing = false;
    }
    this.#tellWaiting();
  }

  /** What the purse is to be asked for, in order. */
  get candidates(): readonly Waiter[] {
    return this.#candidates.filter((waiter) => !waiter.isSettled);
  }

  /** All who wait: those who came last are the first to be refused. */
  get waiters(): readonly Waiter[] {
    return [...this.#live, ...this.#starters];
  }

  /** The purse gives it this much output. If the tree itself has not enough by now, the next round decides. */
  grant(waiter: Waiter, output: number): void {
    const { holder, wanted, isStart } = waiter;
    this.#candidates = this.#candidates.filter((each) => each !== waiter);
    if (isStart && this.slots.free === 0) return;
    this.#round += 1;
    const affordable = holder.funds.affordable(wanted, this.#round);
    if (affordable !== undefined) this.#serveWith(waiter, Math.min(affordable, output), output);
  }

  refuse(waiter: Waiter, error: unknown): void {
    this.#remove(waiter);
    waiter.request.onRefused();
    waiter.reject(error);
    if (waiter.isStart) waiter.holder.endAwaited();
    else waiter.holder.isAsking = false;
  }

  #serveOnce(): void {
    this.#round += 1;
    this.#short.clear();
    this.#candidates = [];
    this.#heldUp = [];
    for (const waiter of [...this.#live]) if (!this.#isHeldUp(waiter)) this.#tryToServe(waiter);
    let position = 0;
    while (this.slots.free > 0) {
      const waiter = this.#starters[position];
      // Every call needs tokens: there may be thousands who wait to start, and none of them is tried for nothing.
      if (waiter === undefined || (this.#isShortOfTokens && this.#needless === 0)) return;
      if (!this.#isHeldUp(waiter)) this.#tryToServe(waiter);
      // One that was served or refused has left the line.
      if (this.#starters[position] === waiter) position += 1;
    }
  }

  get #isShortOfTokens(): boolean {
    return this.#heldUp.some(({ unit }) => unit === "tokens");
  }

  /** Where the whole tree is short, only those are tried who need nothing of that, or have kept it for this very call. */
  #isHeldUp({ request: { need, isClosing } }: Waiter): boolean {
    if (need === undefined || isClosing) return false;
    return this.#heldUp.some(({ unit }) => need.prompt[unit] + need.perToken[unit] > 0);
  }

  #tryToServe(waiter: Waiter): void {
    const { holder, wanted, isStart } = waiter;
    const { funds } = holder;
    const needsNothing = waiter.request.need === undefined;
    if (this.#refuseIfHopeless(waiter)) return;
    const output = funds.affordable(wanted, this.#round);
    if (output === undefined) {
      for (const meter of funds.markShort(wanted, this.#round)) {
        this.#short.add(meter);
        if (meter.isOfAll) this.#heldUp.push(meter);
      }
    } else if (this.#purse !== undefined && !needsNothing) this.#candidates.push(waiter);
    else if (isStart || !needsNothing) this.#serveWith(waiter, output);
  }

  /** True when it could never be paid. */
  #refuseIfHopeless(waiter: Waiter): boolean {
    const { holder, wanted, request } = waiter;
    const never = request.need && holder.funds.neverEnough(wanted, holder.above);
    if (never !== undefined) this.refuse(waiter, waiter.refusalAt(never.state()));
    return never !== undefined;
  }

  #serveWith(waiter: Waiter, output: number, shared?: number): void {
    const { holder, wanted, isStart, request } = waiter;
    this.#remove(waiter);
    const slot = isStart ? this.slots.take() : undefined;
    if (isStart) holder.enter();
    // Where neither the purse nor the tree limits tokens or money, the provider's own cap holds.
    const isCapped = shared !== Number.POSITIVE_INFINITY || holder.funds.isLimited;
    const cap = isCapped ? output : Number.POSITIVE_INFINITY;
    const lease = request.need === undefined ? undefined : lend(holder, wanted, output, cap);
    waiter.resolve({ slot, lease });
    if (!isStart) holder.isAsking = false;
  }

  /** True when one was refused: then the others are served again. */
  #refuseIfStuck(): boolean {
    // A question that is on its way to the purse is a step.
    if (this.#purse?.isAsking === true) return false;
    for (const meter of this.#short) {
      const last = meter.moving > 0 ? undefined : this.#lastOn(meter);
      if (last === undefined) continue;
      this.refuse(last, last.refusalAt(meter.state()));
      return true;
    }
    return false;
  }

  #lastOn(meter: Meter): Waiter | undefined {
    const draws = ({ holder, request }: Waiter) => request.need !== undefined && holder.funds.meters.includes(meter);
    return this.#starters.findLast(draws) ?? this.#live.findLast(draws);
  }

  #remove(waiter: Waiter): void {
    this.#untold.delete(waiter);
    if (waiter.isStart && waiter.request.need === undefined) this.#needless -= 1;
    remove(waiter.isStart ? this.#starters : this.#live, waiter);
  }

  #leave(waiter: Waiter): void {
    this.#remove(waiter);
    if (!waiter.isStart) waiter.holder.isAsking = false;
    this.changed();
  }

  /** Says to those who do not know it yet that they wait, and for what. */
  #tellWaiting(): void {
    if (this.#short.size === 0) return;
    for (const waiter of this.#untold) {
      const meter = this.#shortFor(waiter);
      if (meter === undefined) continue;
      this.#untold.delete(waiter);
      waiter.tell(meter.state());
    }
  }

  #shortFor({ holder }: Waiter): Meter | undefined {
    return holder.funds.meters.find((meter) => this.#short.has(meter));
  }
}

function leaseOf({ lease }: Granted): Lease {
  return held(lease);
}

function held<T>(granted: T | undefined): T {
  if (granted === undefined) throw new Error("A waiter was served without what it asked for");
  return granted;
}
