/** An alarm that has the rows of shared budgets read again although nothing has changed in this process. */

import type { Clock } from "../../core/clock.ts";
import type { BudgetRows } from "../../core/shared-budget.ts";

const MIN_PAUSE_MS = 5;
const MAX_PAUSE_MS = 100;
/** The pause when the store notifies of changes: asking only covers lost notifications. */
const PAUSE_WHEN_NOTIFIED_MS = 1_000;
/** A process that misses three heartbeats counts as dead. */
const HEARTBEAT_MS = 10_000;

/**
 * `waiting`: a run waits for others. `holding`: nothing waits, but the process must send heartbeats. `owing`: all runs have
 * ended and what they gave back could not be written; others may wait for it, but the process may end.
 */
type Mode = "waiting" | "holding" | "owing" | "idle";

export class SharedBudgetAlarm {
  readonly #rows: BudgetRows;
  readonly #clock: Clock;
  readonly #onAlarm: () => void;
  #mode: Mode = "idle";
  #listening: Disposable | undefined;
  #timer: Disposable | undefined;
  #pauseMs = MIN_PAUSE_MS;

  constructor(rows: BudgetRows, clock: Clock, onAlarm: () => void) {
    this.#rows = rows;
    this.#clock = clock;
    this.#onAlarm = onAlarm;
  }

  /** Keeps a timer that already runs for this mode. */
  set(mode: Mode): void {
    // guard: listen-while-waiting
    if (mode === "waiting") this.#listening ??= this.#rows.listen?.(this.#onAlarm);
    else this.#stopListening();
    if (mode === this.#mode && this.#timer !== undefined) return;
    this.#mode = mode;
    this.#timer?.[Symbol.dispose]();
    if (mode === "idle") this.#timer = undefined;
    else this.#timer = this.#clock.timer(this.#pauseFor(mode), () => this.#ring(), mode === "owing");
  }

  #pauseFor(mode: Mode): number {
    if (mode !== "waiting") return HEARTBEAT_MS;
    return this.#listening === undefined ? this.#pauseMs : PAUSE_WHEN_NOTIFIED_MS;
  }

  #ring(): void {
    this.#timer = undefined;
    this.#pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs * 2);
    this.#onAlarm();
  }

  #stopListening(): void {
    this.#listening?.[Symbol.dispose]();
    this.#listening = undefined;
    this.#pauseMs = MIN_PAUSE_MS;
  }
}
