/** How long children may run, all together: the clock runs while at least one of them does. */

import type { Clock, Deadline, Deadlines } from "../core/clock.ts";
import { BudgetExceeded } from "../core/errors.ts";
import type { LimitState } from "../core/limits.ts";

export class ChildTime {
  readonly #limitSeconds: number | undefined;
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #onExceeded: (reason: BudgetExceeded) => void;
  readonly #paused = new Map<object, number>();
  #running = 0;
  #usedMs = 0;
  #since = 0;
  #deadline: Deadline | undefined;

  constructor(
    limitSeconds: number | undefined,
    clock: Clock,
    deadlines: Deadlines,
    onExceeded: (reason: BudgetExceeded) => void,
  ) {
    this.#limitSeconds = limitSeconds;
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#onExceeded = onExceeded;
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
    this.#deadline = this.#deadlines.add(limit * 1000 - this.#usedMs, () => this.#onExceeded(this.#exceeded(limit)));
  }

  end(): void {
    this.#running -= 1;
    if (this.#limitSeconds === undefined || this.#running > 0) return;
    this.#usedMs += this.#clock.monotonic() - this.#since;
    this.#deadline?.[Symbol.dispose]();
    this.#deadline = undefined;
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
