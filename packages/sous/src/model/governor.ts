/** One governor per model object: how many calls run at once, and how long all runs wait after a refusal. */

import type { Clock } from "../core/clock.ts";
import type { Model } from "../core/model.ts";
import { onDispose, type Scope } from "../core/scope.ts";

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

type Waiter = { start(): void };

export class Governor {
  limit = DEFAULT_CALLS_AT_ONCE;
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();
  #running = 0;
  #holdUntil = 0;
  #timer: Disposable | undefined;
  /** Every call gets the same object: a slot has no state of its own. */
  readonly #slot = onDispose(() => {
    this.#running -= 1; // guard: give-the-call-back
    if (this.#waiters.size > 0) this.#startWaiting();
  });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a slot, first come first served. Disposing gives it back. */
  take(scope: Scope): Disposable | Promise<Disposable> {
    scope.throwIfAborted();
    if (this.#running < this.limit && this.#waiters.size === 0 && !this.#isHeld()) {
      this.#running += 1;
      return this.#slot;
    }
    return new Promise<Disposable>((resolve, reject) => {
      const waiter: Waiter = {
        start: () => {
          link[Symbol.dispose]();
          resolve(this.#slot);
        },
      };
      this.#waiters.add(waiter);
      const link = scope.onAbort((reason) => {
        this.#waiters.delete(waiter);
        if (this.#waiters.size === 0) this.#stopTimer();
        reject(reason);
      });
      this.#startWaiting();
    });
  }

  /** No call starts before this many milliseconds have passed: the provider asked for it. */
  hold(milliseconds: number): void {
    this.#holdUntil = Math.max(this.#holdUntil, this.#clock.monotonic() + milliseconds);
  }

  /** Leaves no timer behind when no call waits. */
  #stopTimer(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #isHeld(): boolean {
    return this.#holdUntil !== 0 && this.#clock.monotonic() < this.#holdUntil;
  }

  #startWaiting(): void {
    if (this.#isHeld()) {
      this.#timer ??= this.#clock.timer(this.#holdUntil - this.#clock.monotonic(), () => {
        this.#timer = undefined;
        this.#startWaiting();
      });
      return;
    }
    for (const waiter of this.#waiters) {
      if (this.#running >= this.limit) return;
      this.#running += 1;
      this.#waiters.delete(waiter);
      waiter.start();
    }
    // A slot that was given back may have come before the timer.
    this.#stopTimer();
  }
}
