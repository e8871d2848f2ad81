/** The deadlines of a tree: a heap on the monotonic clock with one timer for all of them. */

import type { Clock, Deadline, Deadlines } from "../../core/clock.ts";
import { BudgetExceeded } from "../../core/errors.ts";
import type { Run } from "../../core/run.ts";
import { TimedOut } from "../../core/scope.ts";

/** Timers of the platform fire at once above this; a longer wait takes several timers. */
const MAX_TIMER = 2 ** 31 - 1;

export function createDeadlines(clock: Clock): Deadlines {
  const timer = new SharedTimer(clock);
  return { add: (milliseconds, onDue) => new TreeDeadline(timer, Math.max(0, milliseconds), onDue) };
}

/** Keeps the one timer set for the earliest entry, or earlier. */
class SharedTimer {
  readonly clock: Clock;
  readonly #heap = new DeadlineHeap();
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

  /** Leaves the timer set while entries remain: waking up once too often is cheaper than setting it again. */
  remove(entry: TreeDeadline): void {
    this.#heap.remove(entry);
    if (this.#heap.first === undefined) this.#clearTimer();
  }

  #setTimer(): void {
    const due = this.#heap.first?.due ?? Number.POSITIVE_INFINITY;
    if (due >= this.#timerDue) return;
    this.#clearTimer();
    this.#timerDue = due;
    const wait = Math.min(Math.max(0, Math.ceil(due - this.clock.monotonic())), MAX_TIMER);
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
    // Entries that a callback adds wait for the next timer; otherwise a callback that adds itself would never end.
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

class TreeDeadline implements Deadline {
  due: number;
  /** Decides among equals: the lower comes first. */
  order = 0;
  /** The position in the heap; -1 when it is in none. Only the heap writes it. */
  index = -1;
  readonly #timer: SharedTimer;
  #onDue: (() => void) | undefined;
  #pauses = 0;
  /** Milliseconds that were left when it was paused. */
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

/** A binary heap whose entries know their position, so that any of them is removed in logarithmic time. */
class DeadlineHeap {
  readonly #entries: TreeDeadline[] = [];

  get first(): TreeDeadline | undefined {
    return this.#entries[0];
  }

  add(entry: TreeDeadline): void {
    this.#entries.push(entry);
    this.#rise(entry, this.#entries.length - 1);
  }

  remove(entry: TreeDeadline): void {
    const { index } = entry;
    entry.index = -1;
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    // The last entry fills the gap; it comes from another branch, so it may belong higher or lower.
    this.#rise(last, index);
    if (last.index === index) this.#sink(last, index);
  }

  #rise(entry: TreeDeadline, from: number): void {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#entries[parentIndex];
      if (parent === undefined || !isBefore(entry, parent)) break;
      this.#put(parent, index);
      index = parentIndex;
    }
    this.#put(entry, index);
  }

  #sink(entry: TreeDeadline, from: number): void {
    let index = from;
    for (;;) {
      const left = this.#entries[2 * index + 1];
      const right = this.#entries[2 * index + 2];
      const child = left !== undefined && right !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, entry)) break;
      const childIndex = child.index;
      this.#put(child, index);
      index = childIndex;
    }
    this.#put(entry, index);
  }

  #put(entry: TreeDeadline, index: number): void {
    this.#entries[index] = entry;
    entry.index = index;
  }
}

function isBefore(one: TreeDeadline, other: TreeDeadline): boolean {
  return one.due < other.due || (one.due === other.due && one.order < other.order);
}

/** The time one run may take: its own timeout or its share of the time, whichever ends first. */
type TimeLimit = {
  /** The limit of this run alone. */
  timeoutMs: number | undefined;
  /** The limit of all runs of the agent together, of which `usedMs` are gone. */
  durationMs: number | undefined;
  usedMs: number;
};

/** Aborts the run when its time is up; undefined when its time is not limited. */
export function setDeadline(run: Run, limit: TimeLimit, deadlines: Deadlines, clock: Clock): Deadline | undefined {
  const { timeoutMs = Number.POSITIVE_INFINITY, durationMs = Number.POSITIVE_INFINITY, usedMs } = limit;
  const ownLeftMs = Math.max(0, timeoutMs - run.usedMs);
  const leftMs = Math.max(0, durationMs - usedMs - run.usedMs);
  if (Math.min(ownLeftMs, leftMs) === Number.POSITIVE_INFINITY) return undefined;
  const startedAt = clock.monotonic() - run.usedMs;
  const stop = (): void => {
    const used = usedMs + clock.monotonic() - startedAt;
    const whose = run.parent === undefined ? "The run" : "Subagent";
    const message =
      ownLeftMs < leftMs
        ? `${whose} timed out after ${timeoutMs} ms`
        : new BudgetExceeded("durationMs", used, durationMs).message;
    run.scope.abort(new TimedOut(message, run.who.runId));
  };
  if (leftMs > 0) return deadlines.add(Math.min(ownLeftMs, leftMs), stop);
  // A run without time left makes no call.
  stop();
  return undefined;
}

/** Throws `BudgetExceeded` when a run below this one asks for more time than this one or a run above it has left. */
export function checkDuration(asked: number | undefined, below: Run): void {
  if (asked === undefined) return;
  for (let run: Run | undefined = below; run !== undefined; run = run.parent) {
    const left = run.deadline?.remaining() ?? Number.POSITIVE_INFINITY;
    if (asked > left) throw new BudgetExceeded("durationMs", asked, Math.floor(left / 1000) * 1000);
  }
}
