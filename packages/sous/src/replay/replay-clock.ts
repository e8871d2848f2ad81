/** The clock of a rerun: it shows the time of the recording and moves only when the rerun moves it. */

import type { Clock } from "../core/clock.ts";

type Timer = { readonly due: number; readonly callback: () => void };

export class ReplayClock implements Clock {
  readonly #start: number;
  readonly #timers = new Set<Timer>();
  #time: number;

  constructor(start: number) {
    this.#start = start;
    this.#time = start;
  }

  // Fields, not methods: a clock is handed around in pieces.
  readonly now = (): number => this.#time;
  readonly monotonic = (): number => this.#time - this.#start;
  readonly timer = (milliseconds: number, callback: () => void): Disposable => {
    const timer = { due: this.#time + Math.max(0, milliseconds), callback };
    this.#timers.add(timer);
    // No time need pass for it.
    if (milliseconds <= 0) queueMicrotask(() => this.#timers.delete(timer) && callback());
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  };

  /** Never back: the clock of the recording may have been set. */
  moveTo(time: number): void {
    this.#time = Math.max(this.#time, time);
  }

  isDueAt(time: number): boolean {
    for (const timer of this.#timers) if (timer.due === time) return true;
    return false;
  }

  /** Moves to the earliest timer that is due before this time and calls it; false when there is none. */
  fireBefore(time: number): boolean {
    let earliest: Timer | undefined;
    for (const timer of this.#timers) {
      // Among equals the youngest: a deadline was set before whatever it would stop.
      const isEarlier = earliest === undefined ? timer.due < time : timer.due <= earliest.due;
      if (isEarlier) earliest = timer;
    }
    if (earliest === undefined) return false;
    this.#timers.delete(earliest);
    this.moveTo(earliest.due);
    earliest.callback();
    return true;
  }
}
