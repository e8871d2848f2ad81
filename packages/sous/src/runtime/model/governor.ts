/** The calls to one model: how many at once, and how fast while its provider limits them. All runs on the model share it. */

import type { Clock } from "../../core/clock.ts";
import type { Model, RateReport } from "../../core/model.ts";
import { onDispose, type Scope } from "../../core/scope.ts";
import { Pace } from "./pace.ts";

const DEFAULT_CALLS_AT_ONCE = 16;

const governors = new WeakMap<Model, Governor>();

/** The governor all runs on this model share; a given limit replaces the earlier one. */
export function governorOf(model: Model, clock: Clock, callsAtOnce?: number): Governor {
  let governor = governors.get(model);
  if (governor === undefined) {
    governor = new Governor(clock);
    governors.set(model, governor);
  }
  if (callsAtOnce !== undefined) governor.limit = callsAtOnce;
  return governor;
}

/** A call that wants a slot. */
export type Caller = {
  readonly scope: Scope;
  /** The rate of the provider lets it start after about this time. Called when it begins to wait for that. */
  onRateWait(milliseconds: number): void;
};

export class Governor {
  limit = DEFAULT_CALLS_AT_ONCE;
  readonly #clock: Clock;
  readonly #pace = new Pace();
  /** Each starts a call that waits. Those that the provider has refused go first. */
  readonly #refused = new Set<() => void>();
  readonly #waiters = new Set<() => void>();
  #running = 0;
  #timer: Disposable | undefined;
  /** Every call gets the same object: a slot has no state of its own. */
  readonly #slot = onDispose(() => {
    this.#running -= 1; // guard: give-the-call-back
    if (this.#waiting > 0) this.#startWaiting();
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of shortages so far, for `refuse`. */
  get shortages(): number {
    return this.#pace.shortages;
  }

  /** The number of calls that the provider has begun to answer. */
  get accepted(): number {
    return this.#pace.accepted;
  }

  /** The time at which the provider last began to answer a call. */
  get acceptedAt(): number {
    return this.#pace.acceptedAt;
  }

  get #waiting(): number {
    return this.#refused.size + this.#waiters.size;
  }

  /** Takes a slot, first come first served, but one that was refused goes first. Disposing gives it back. */
  take(caller: Caller, wasRefused: boolean): Disposable | Promise<Disposable> {
    const { scope } = caller;
    scope.throwIfAborted();
    const rateMs = this.#pace.isLimited ? this.#pace.waitMs(this.#clock.monotonic(), this.#waiting) : 0;
    if (this.#running < this.#pace.widthOf(this.limit) && this.#waiting === 0 && rateMs === 0) {
      this.#start();
      return this.#slot;
    }
    const waiters = wasRefused ? this.#refused : this.#waiters;
    return new Promise<Disposable>((resolve, reject) => {
      const start = () => {
        link[Symbol.dispose]();
        resolve(this.#slot);
      };
      waiters.add(start);
      const link = scope.onAbort((reason) => {
        waiters.delete(start);
        if (this.#waiting === 0) this.#stopTimer();
        reject(reason);
      });
      if (rateMs > 0) caller.onRateWait(rateMs);
      this.#startWaiting();
    });
  }

  /** The provider has begun to answer a call. */
  accept(): void {
    const wasLimited = this.#pace.isLimited;
    this.#pace.accept(this.#clock.monotonic(), this.limit);
    if (wasLimited && this.#waiting > 0) this.#startWaiting();
  }

  /** The provider refuses a call for its rate: no call starts for the time that is returned. `shortages` is from when the call started. */
  refuse(shortages: number, afterMs: number | undefined): number {
    const milliseconds = this.#pace.refuse(shortages, afterMs, this.#clock.monotonic(), this.limit);
    this.#stopTimer();
    if (this.#waiting > 0) this.#startWaiting();
    return milliseconds;
  }

  /** Takes what the provider says of its limit beside an answer. */
  hear(report: RateReport): void {
    this.#pace.hear(report, this.#clock.monotonic(), this.limit);
  }

  #start(): void {
    this.#running += 1;
    this.#pace.start(this.#pace.isLimited ? this.#clock.monotonic() : 0, this.limit);
  }

  /** Leaves no timer behind when no call waits. */
  #stopTimer(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #startWaiting(): void {
    for (const waiters of [this.#refused, this.#waiters]) {
      for (const start of waiters) {
        if (this.#running >= this.#pace.widthOf(this.limit)) return;
        const rateMs = this.#pace.isLimited ? this.#pace.waitMs(this.#clock.monotonic()) : 0;
        if (rateMs > 0) {
          this.#timer ??= this.#clock.timer(rateMs, () => {
            this.#timer = undefined;
            this.#startWaiting();
          });
          return;
        }
        waiters.delete(start);
        this.#start();
        start();
      }
    }
    // A slot that was given back may have come before the timer.
    this.#stopTimer();
  }
}
