/** When the books of a shared budget are looked at again although nothing has changed in this process. */

import type { Clock } from "../core/clock.ts";
import type { PursePort } from "../core/shared-budget.ts";

const SHORTEST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 100;
/** Where others tell when something has changed, asking is only for what was not told. */
const PAUSE_WHEN_TOLD_MS = 1_000;
/** A process that is not heard of for three of these is taken for dead. */
const HEARTBEAT_MS = 10_000;

/**
 * `waiting`: a run waits for others. `holding`: nothing waits, but the process must be heard of. `owing`: all runs have ended,
 * and what they gave back could not be written down; others may wait for it, but the process may end.
 */
type Mode = "waiting" | "holding" | "owing" | "idle";

export class PurseAlarm {
  readonly #purse: PursePort;
  readonly #clock: Clock;
  readonly #onAlarm: () => void;
  #mode: Mode = "idle";
  #listening: Disposable | undefined;
  #timer: Disposable | undefined;
  #pauseMs = SHORTEST_PAUSE_MS;

  constructor(purse: PursePort, clock: Clock, onAlarm: () => void) {
    this.#purse = purse;
    this.#clock = clock;
    this.#onAlarm = onAlarm;
  }

  /** A timer that runs for the same mode is left alone. */
  set(mode: Mode): void {
    if (mode === "waiting") this.#listening ??= this.#purse.listen(this.#onAlarm);
    else this.#stopListening();
    if (mode === this.#mode && this.#timer !== undefined) return;
    this.#mode = mode;
    this.#timer?.[Symbol.dispose]();
    if (mode === "idle") this.#timer = undefined;
    else this.#timer = this.#clock.timer(this.#pauseFor(mode), () => this.#ring(), mode === "owing");
  }

  #pauseFor(mode: Mode): number {
    if (mode !== "waiting") return HEARTBEAT_MS;
    return this.#listening === undefined ? this.#pauseMs : PAUSE_WHEN_TOLD_MS;
  }

  #ring(): void {
    this.#timer = undefined;
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
    this.#onAlarm();
  }

  #stopListening(): void {
    this.#listening?.[Symbol.dispose]();
    this.#listening = undefined;
    this.#pauseMs = SHORTEST_PAUSE_MS;
  }
}
