/** How long children may run, all together: the clock runs while at least one of them does. */

import type { Clock, Deadline, Deadlines } from "../core/clock.ts";
import { BudgetExceeded } from "../core/errors.ts";
import type { LimitState } from "../core/limits.ts";
import { NEAR } from "./meter.ts";

/** Who hears of the limit. */
export type ChildTimeListeners = {
  onExceeded(reason: BudgetExceeded): void;
  /** Told once, when most of the time is used. */
  onNear(limit: LimitState): void;
};

export class ChildTime {
  readonly #limitSeconds: number | undefined;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #listeners: ChildTimeListeners;
  readonly #paused = new Map<object, number>();
  #running = 0;
  #usedMs = 0;
  #since = 0;
  #deadline: Deadline | undefined;
  #near: Deadline | undefined;
  #isToldNear = false;

  constructor(limitSeconds: number | undefined, clock: Clock, deadlines: Deadlines, listeners: ChildTimeListeners) {
    this.#limitSeconds = limitSeconds;
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#listeners = listeners;
  }

  /** Time that was used before a restart. */
  restore(usedMs: number): void {
    this.#usedMs = usedMs;
  }

  /** Throws `BudgetExceeded` when there is no time left. */
  check(): void {
    if (this.#limitSeconds !== undefined && this.#usedSeconds() >= this.#limitSeconds)
      throw this.#exceeded(this.#limitSeconds);
  }

  /** The limit as it stands; undefined when there is none. */
  state(): LimitState | undefined {
    const limit = this.#limitSeconds;
    return limit === undefined
      ? undefined
      : { of: "children", unit: "seconds", limit, spent: this.#usedSeconds(), reserved: 0 };
  }

  start(): void {
    this.#running += 1;
    if (this.#limitSeconds === undefined || this.#running > 1) return;
    const limit = this.#limitSeconds;
    this.#since = this.#clock.monotonic();
    this.#deadline = this.#deadlines.add(limit * 1000 - this.#usedMs, () =>
      this.#listeners.onExceeded(this.#exceeded(limit)),
    );
    if (this.#isToldNear) return;
    this.#near = this.#deadlines.add(limit * 1000 * NEAR - this.#usedMs, () => {
      this.#isToldNear = true;
      const state = this.state();
      if (state !== undefined) this.#listeners.onNear(state);
    });
  }

  end(): void {
    this.#running -= 1;
    if (this.#limitSeconds === undefined || this.#running > 0) return;
    this.#usedMs += this.#clock.monotonic() - this.#since;
    this.#deadline?.[Symbol.dispose]();
    this.#deadline = undefined;
    this.#near?.[Symbol.dispose]();
    this.#near = undefined;
  }

  /** One that waits for a person, or for somebody below it who does, is not at work. Pauses are counted. */
  pause(child: object): void {
    const pauses = (this.#paused.get(child) ?? 0) + 1;
    this.#paused.set(child, pauses);
    if (pauses === 1) this.end();
  }

  resume(child: object): void {
    const pauses = (this.#paused.get(child) ?? 0) - 1;
    if (pauses > 0) {
      this.#paused.set(child, pauses);
      return;
    }
    this.#paused.delete(child);
    this.start();
  }

  #usedSeconds(): number {
    const now = this.#running > 0 ? this.#clock.monotonic() - this.#since : 0;
    return (this.#usedMs + now) / 1000;
  }

  #exceeded(limit: number): BudgetExceeded {
    return new BudgetExceeded("seconds", this.#usedSeconds(), limit);
  }
}
