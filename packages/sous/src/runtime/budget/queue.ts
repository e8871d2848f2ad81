/**
 * The queue of a tree: runs that wait for budget and children that wait to start, and which is refused when nothing moves. Live runs come
 * first, by their starts; then children that wait to start, by the order of their calls.
 */

import { NO_AMOUNT, toNeed } from "../../core/amount.ts";
import { ToolFailure } from "../../core/errors.ts";
import type { CallAsk, Lease, LimitState, StartAsk, Started } from "../../core/limits.ts";
import type { Scope } from "../../core/scope.ts";
import { type LimitMeter, lend } from "./funds.ts";
import type { Holder } from "./holder.ts";
import type { Slots } from "./run-slots.ts";
import type { SharedBudgetClient, SharedChain } from "./shared-budget-client.ts";
import type { SharedRow } from "./shared-budget-row.ts";
import { type Granted, insert, remove, Waiter } from "./waiter.ts";

/** Called when most of a limit is spent, with the run that came near it, if that is known. */
export type OnNear = (limit: LimitState, path: string | undefined) => void;

const NO_ROWS: readonly SharedRow[] = [];

/** The latest number in the order of starts; trees that share a budget are compared by it. */
let orders = 0;

export class BudgetQueue {
  /** The live runs that draw on a limit. */
  readonly holders = new Set<Holder>();
  readonly slots: Slots;
  readonly #shared: SharedBudgetClient | undefined;
  /** The rows of a store on which the whole tree draws. */
  readonly rows: readonly SharedRow[];
  readonly onNear: OnNear;
  readonly #live: Waiter[] = [];
  readonly #starters: Waiter[] = [];
  /** The number of starters that need only a slot. */
  #needless = 0;
  /** Waiters that were not yet notified that they wait for budget. */
  readonly #unnotified = new Set<Waiter>();
  /** The limits at which a call was found short in the last round. */
  readonly #short = new Set<LimitMeter>();
  /** The short limits that every run of the tree draws on. */
  #heldUp: LimitMeter[] = [];
  /** Waiters that only the shared budget can hold up. */
  #candidates: Waiter[] = [];
  #round = 0;
  #isServing = false;
  #isServedAgain = false;

  constructor(slots: Slots, shared: SharedChain | undefined, onNear: OnNear) {
    this.slots = slots;
    this.#shared = shared?.client;
    this.rows = shared?.rows ?? NO_ROWS;
    this.onNear = onNear;
    slots.queue = this;
  }

  /** A run that draws on a limit has started. */
  add(holder: Holder): void {
    this.holders.add(holder);
    this.#shared?.join(this);
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
    insert(this.#live, waiter); // guard: queue-before-step
    this.#unnotified.add(waiter);
    // The old reservation is given back after the run joined the queue: it goes to the first in order, which may be this run.
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
    // A child that had started before a restart waits for its slot; it is not refused because another came first.
    if (isCounted !== true && this.slots.refusesWhenFull && this.slots.free <= this.#starters.length)
      throw new ToolFailure(
        `maximum concurrent subagent limit reached, so ${path} did not start. Try again when another subagent completes.`,
      );
    const request = { need: need && toNeed(need), lastWords: NO_AMOUNT, isClosing: false, onWait, onRefused };
    const waiter = new Waiter(holder, request, this.nextOrder(), true);
    this.#starters.push(waiter); // guard: queue-before-wait
    if (need === undefined) this.#needless += 1;
    this.#unnotified.add(waiter);
    this.#shared?.join(this);
    // The parent waits only after the child joined the queue: before that, another would be refused instead of it.
    if (callId !== undefined) holder.beAwaited(callId); // guard: parent-is-awaited
    // Without this it would first wait for a slot.
    if (!waiter.isSettled) this.#refuseIfHopeless(waiter); // guard: hopeless-start
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
    this.#shared?.pump();
  }

  /** Serves waiters in order. When nothing moves and the first cannot be served, refuses the last. */
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
        if (this.#shared !== undefined) this.#shared.pump();
      } while (this.#isServedAgain || this.#refuseIfStuck());
    } finally {
      this.#isServing = false;
    }
    this.#notifyWaiting();
  }

  /** The waiters to ask the shared budget for, in order. */
  get candidates(): readonly Waiter[] {
    return this.#candidates.filter((waiter) => !waiter.isSettled);
  }

  /** All waiters; the last are refused first. */
  get waiters(): readonly Waiter[] {
    return [...this.#live, ...this.#starters];
  }

  /** Grants this much output of the rows in the store. If the tree itself has too little now, the next round decides. */
  grant(waiter: Waiter, output: number): void {
    const { holder, wanted, isStart } = waiter;
    this.#candidates = this.#candidates.filter((each) => each !== waiter);
    if (isStart && this.slots.free === 0) return;
    this.#round += 1;
    const affordable = holder.funds.affordable(wanted, this.#round);
    if (affordable !== undefined) this.#serveWith(waiter, Math.min(affordable, output));
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
    // guard: start-needs-a-slot
    while (this.slots.free > 0) {
      const waiter = this.#starters[position];
      // Every call needs tokens. Thousands may wait to start, so none is tried in vain.
      if (waiter === undefined || (this.#isShortOfTokens && this.#needless === 0)) return;
      if (!this.#isHeldUp(waiter)) this.#tryToServe(waiter);
      // One that was served or refused has left the queue.
      if (this.#starters[position] === waiter) position += 1;
    }
  }

  get #isShortOfTokens(): boolean {
    return this.#heldUp.some(({ unit }) => unit === "tokens");
  }

  /** True when the tree is short of a unit that this waiter needs, and it has no reserve for this call. */
  #isHeldUp({ request: { need, isClosing } }: Waiter): boolean {
    if (need === undefined || isClosing) return false; // guard: last-words-overtake
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
    } else if (funds.shared !== undefined && !needsNothing) this.#candidates.push(waiter);
    else if (isStart || !needsNothing) this.#serveWith(waiter, output);
  }

  /** True when it could never be paid; then it is refused. */
  #refuseIfHopeless(waiter: Waiter): boolean {
    const { holder, wanted, request } = waiter;
    const never = request.need && holder.funds.neverEnough(wanted, holder.above);
    if (never !== undefined) this.refuse(waiter, waiter.refusalAt(never.state()));
    return never !== undefined;
  }

  #serveWith(waiter: Waiter, output: number): void {
    const { holder, wanted, isStart, request } = waiter;
    this.#remove(waiter);
    const slot = isStart ? this.slots.take() : undefined;
    if (isStart) holder.enter();
    // The provider's own cap holds when neither tokens nor money are limited.
    const cap = holder.funds.isLimited ? output : Number.POSITIVE_INFINITY;
    const lease = request.need === undefined ? undefined : lend(holder, wanted, output, cap);
    waiter.resolve({ slot, lease });
    if (!isStart) holder.isAsking = false;
  }

  /** True when one was refused: then the others are served again. */
  #refuseIfStuck(): boolean {
    // An ask on its way to the shared budget counts as movement.
    if (this.#shared?.isAsking === true) return false;
    for (const meter of this.#short) {
      const last = meter.moving > 0 ? undefined : this.#lastOn(meter); // guard: refuse-when-stuck
      if (last === undefined) continue;
      this.refuse(last, last.refusalAt(meter.state()));
      return true;
    }
    return false;
  }

  #lastOn(meter: LimitMeter): Waiter | undefined {
    const draws = ({ holder, request }: Waiter) => request.need !== undefined && holder.funds.meters.includes(meter);
    return this.#starters.findLast(draws) ?? this.#live.findLast(draws); // guard: refuse-the-last
  }

  #remove(waiter: Waiter): void {
    this.#unnotified.delete(waiter);
    if (waiter.isStart && waiter.request.need === undefined) this.#needless -= 1;
    remove(waiter.isStart ? this.#starters : this.#live, waiter);
  }

  #leave(waiter: Waiter): void {
    this.#remove(waiter);
    if (!waiter.isStart) waiter.holder.isAsking = false;
    this.changed();
  }

  /** Notifies waiters once that they wait, and for which limit. */
  #notifyWaiting(): void {
    if (this.#short.size === 0) return;
    for (const waiter of this.#unnotified) {
      const meter = this.#shortFor(waiter);
      if (meter === undefined) continue;
      this.#unnotified.delete(waiter);
      waiter.notify(meter.state());
    }
  }

  #shortFor({ holder }: Waiter): LimitMeter | undefined {
    return holder.funds.meters.find((meter) => this.#short.has(meter));
  }
}

function leaseOf({ lease }: Granted): Lease {
  return held(lease);
}

function held<T>(granted: T | undefined): T {
  if (granted === undefined) throw new Error("Unreachable: a waiter was served without what it asked for");
  return granted;
}
