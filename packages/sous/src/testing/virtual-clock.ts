/** A clock that stands still until it is moved to its next timer. */

import type { Clock } from "../core/clock.ts";

type Timer = { due: number; callback: () => void; isGuest: boolean };

/** A clock that moves only when a test moves it. */
export class VirtualClock implements Clock {
  readonly #startTime: number;
  readonly #timers = new Set<Timer>();
  #elapsed = 0;
  #jumped = 0;

  constructor(startTime: number) {
    this.#startTime = startTime;
  }

  // Fields, not methods: a clock is handed around in pieces.
  readonly now = (): number => this.#startTime + this.#elapsed + this.#jumped;
  readonly monotonic = (): number => this.#elapsed;
  /** One that would not keep a process alive is not counted as left behind. */
  readonly timer = (milliseconds: number, callback: () => void, isQuiet = false): Disposable =>
    this.#add(milliseconds, callback, !isQuiet);

  /** A timer of the world itself: it is not counted as something the code under test left behind. */
  ownTimer(milliseconds: number, callback: () => void): Disposable {
    return this.#add(milliseconds, callback, false);
  }

  /** Moves wall time alone, as an operator or a time server would; timers do not notice. */
  jump(milliseconds: number): void {
    this.#jumped += milliseconds;
  }

  /** How many timers the code under test has set and neither disposed nor seen fire. */
  get liveTimers(): number {
    let count = 0;
    for (const timer of this.#timers) if (timer.isGuest) count += 1;
    return count;
  }

  /** Moves time to the earliest timer and fires it; false when there is none. Among equals `choose` decides. */
  fireNext(choose: (count: number) => number): boolean {
    let earliest: Timer[] = [];
    for (const timer of this.#timers) {
      const due = earliest[0]?.due ?? Number.POSITIVE_INFINITY;
      if (timer.due < due) earliest = [timer];
      else if (timer.due === due) earliest.push(timer);
    }
    const chosen = earliest[earliest.length > 1 ? choose(earliest.length) : 0];
    if (chosen === undefined) return false;
    this.#timers.delete(chosen);
    this.#elapsed = Math.max(this.#elapsed, chosen.due);
    chosen.callback();
    return true;
  }

  #add(milliseconds: number, callback: () => void, isGuest: boolean): Disposable {
    const timer = { due: this.#elapsed + Math.max(0, milliseconds), callback, isGuest };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }
}
