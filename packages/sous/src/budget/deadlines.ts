/** The deadlines of a tree: a heap on the monotonic clock with one timer for all of them. */

import type { Clock, Deadline, Deadlines } from "../core/clock.ts";
import { DeadlineHeap, type HeapEntry } from "./deadline-heap.ts";

/** Timers of the platform fire at once when asked for more; a longer wait takes several. */
const LONGEST_TIMER = 2 ** 31 - 1;

export function createDeadlines(clock: Clock): Deadlines {
  const timer = new SharedTimer(clock);
  return { add: (milliseconds, onDue) => new TreeDeadline(timer, Math.max(0, milliseconds), onDue) };
}

/** Keeps the one timer set for the earliest entry, or earlier. */
class SharedTimer {
  readonly clock: Clock;
  readonly #heap = new DeadlineHeap<TreeDeadline>();
  #timer: Disposable | undefined;
  #timerDue = Number.POSITIVE_INFINITY;
  #count = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  add(entry: TreeDeadline): void {
    this.#count += 1;
    entry.order = this.#count;
    this.#heap.add(entry);
    this.#setTimer();
  }

  /** The timer stays as it is, if it is still needed at all: to wake up once too often is cheaper than to set it anew. */
  remove(entry: TreeDeadline): void {
    this.#heap.remove(entry);
    if (this.#heap.first === undefined) this.#clearTimer();
  }

  #setTimer(): void {
    const due = this.#heap.first?.due ?? Number.POSITIVE_INFINITY;
    if (due >= this.#timerDue) return;
    this.#clearTimer();
    this.#timerDue = due;
    const wait = Math.min(Math.max(0, Math.ceil(due - this.clock.monotonic())), LONGEST_TIMER);
    this.#timer = this.clock.timer(wait, () => this.#callWhatIsDue());
  }

  #clearTimer(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#timerDue = Number.POSITIVE_INFINITY;
  }

  #callWhatIsDue(): void {
    this.#clearTimer();
    const now = this.clock.monotonic();
    // What a callback adds waits for the next timer, or a callback that adds itself would never end.
    const newest = this.#count;
    try {
      for (let first = this.#heap.first; first !== undefined; first = this.#heap.first) {
        if (first.due > now || first.order > newest) break;
        this.#heap.remove(first);
        first.fire();
      }
    } finally {
      this.#setTimer();
    }
  }
}

class TreeDeadline implements Deadline, HeapEntry {
  due: number;
  order = 0;
  index = -1;
  readonly #timer: SharedTimer;
  #onDue: (() => void) | undefined;
  #pauses = 0;
  /** What was left when it was paused. */
  #left = 0;

  constructor(timer: SharedTimer, milliseconds: number, onDue: () => void) {
    this.#timer = timer;
    this.#onDue = onDue;
    this.due = timer.clock.monotonic() + milliseconds;
    timer.add(this);
  }

  pause(): void {
    if (this.#onDue === undefined) return;
    this.#pauses += 1;
    if (this.#pauses > 1) return;
    this.#left = Math.max(0, this.due - this.#timer.clock.monotonic());
    this.#timer.remove(this);
  }

  resume(): void {
    if (this.#onDue === undefined || this.#pauses === 0) return;
    this.#pauses -= 1;
    if (this.#pauses > 0) return;
    this.due = this.#timer.clock.monotonic() + this.#left;
    this.#timer.add(this);
  }

  remaining(): number {
    if (this.#onDue === undefined) return 0;
    return this.#pauses > 0 ? this.#left : Math.max(0, this.due - this.#timer.clock.monotonic());
  }

  fire(): void {
    const onDue = this.#onDue;
    this.#onDue = undefined;
    onDue?.();
  }

  [Symbol.dispose](): void {
    if (this.#onDue === undefined) return;
    this.#onDue = undefined;
    if (this.#pauses === 0) this.#timer.remove(this);
  }
}
