/** An alarm that has the books of a shared budget read again although nothing has changed in this process. */

import { amountAt, plus, toUsd } from "../../core/amount.ts";
import type { Clock } from "../../core/clock.ts";
import type { LimitState } from "../../core/limits.ts";
import type { SharedBudgetPort } from "../../core/shared-budget.ts";
import type { SharedBudgetState } from "../../core/shared-budget-books.ts";
import { isNear, type Wanted } from "./funds.ts";
import type { BudgetQueue } from "./queue.ts";

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
  readonly #books: SharedBudgetPort;
  readonly #clock: Clock;
  readonly #onAlarm: () => void;
  #mode: Mode = "idle";
  #listening: Disposable | undefined;
  #timer: Disposable | undefined;
  #pauseMs = MIN_PAUSE_MS;

  constructor(books: SharedBudgetPort, clock: Clock, onAlarm: () => void) {
    this.#books = books;
    this.#clock = clock;
    this.#onAlarm = onAlarm;
  }

  /** Keeps a timer that already runs for this mode. */
  set(mode: Mode): void {
    // guard: listen-while-waiting
    if (mode === "waiting") this.#listening ??= this.#books.listen(this.#onAlarm);
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

/** Notifies each tree of a process once per limit when most of a shared budget is spent. */
export class NearNotices {
  /** The limits that each tree was notified of. */
  readonly #notified = new WeakMap<BudgetQueue, Set<LimitState["unit"]>>();

  notify(trees: Iterable<BudgetQueue>, limits: readonly LimitState[]): void {
    const near = limits.filter(isNear);
    if (near.length === 0) return;
    for (const tree of trees) {
      const notified = this.#notified.get(tree) ?? new Set();
      this.#notified.set(tree, notified);
      for (const limit of near) {
        if (!notified.has(limit.unit)) tree.onNear(limit, undefined);
        notified.add(limit.unit);
      }
    }
  }
}

/** The limits of a shared budget as people see them. */
export function limitsOf({ limits, spent, reserved, executions }: SharedBudgetState, of: string): LimitState[] {
  const states: LimitState[] = [];
  if (limits.tokens !== undefined)
    states.push({ of, unit: "tokens", limit: limits.tokens, spent: spent.tokens, reserved: reserved.tokens });
  if (limits.nanoUsd !== undefined) {
    const [limit, gone, held] = [limits.nanoUsd, spent.nanoUsd, reserved.nanoUsd].map(toUsd);
    states.push({ of, unit: "costUsd", limit: limit ?? 0, spent: gone ?? 0, reserved: held ?? 0 });
  }
  if (limits.executions !== undefined)
    states.push({ of, unit: "executions", limit: limits.executions, spent: executions, reserved: 0 });
  return states;
}

/** The limit that has the least of what is wanted. */
export function shorterFor(wanted: Wanted, limits: readonly LimitState[], of: string): LimitState {
  const full = plus(amountAt(wanted.need, wanted.need.enough), wanted.grow);
  let shortest: LimitState = { of, unit: "tokens", limit: 0, spent: 0, reserved: 0 };
  let most = Number.NEGATIVE_INFINITY;
  for (const each of limits) {
    if (each.unit === "executions") continue;
    const asked = each.unit === "costUsd" ? toUsd(full.nanoUsd) : full.tokens;
    const missing = (each.spent + each.reserved + asked) / Math.max(each.limit, Number.MIN_VALUE);
    if (missing <= most) continue;
    shortest = each;
    most = missing;
  }
  return shortest;
}
