/**
 * The rate at which a provider takes calls, learned from its refusals. A refusal says that nothing is left; the calls that were
 * accepted between two refusals, and the time between them, say how fast more comes. Calls then start that far apart, a little
 * closer with each answer, so that a higher limit is found. Times are in milliseconds and monotonic.
 */

import type { RateReport } from "../../core/model.ts";

const FIRST_HOLD_MS = 500;
const MAX_HOLD_MS = 30_000;
/** Shortages in a row, with no answer in between, in which a known rate is believed. */
const BELIEVED = 5;
/** Refusals further apart say nothing of a rate that is not known yet. */
const MAX_LEARNED_MS = 60_000;
/** Calls start that much closer with each answer, and once more for each answer since the last refusal. */
const QUICKER = 0.002;
const MAX_QUICKER = 0.2;
const SLOWER = 1.05;
/** One measure counts by its calls, up to this number. */
const SURE = 4;

export class Pace {
  /** The number of shortages so far. A refused call that started before the latest one belongs to it. */
  shortages = 0;
  /** The number of calls that the provider has begun to answer. */
  accepted = 0;
  /** True while calls are held back. */
  isLimited = false;
  #width = Number.POSITIVE_INFINITY;
  /** Between two calls; 0 while the rate is not known. */
  #gapMs = 0;
  /** The time at which nothing was left, and the calls since then. */
  #emptyAt = Number.NEGATIVE_INFINITY;
  #started = 0;
  #holdUntil = 0;
  #answersInRow = 0;
  #shortagesInRow = 0;
  /** The measure of the latest shortage: later refusals of the same one correct it. */
  #measured = { ms: 0, calls: 0, gapMs: 0 };

  /** The number of calls that may be under way. */
  widthOf(limit: number): number {
    return Math.min(limit, this.#width);
  }

  /** The time until the call behind `ahead` others may start; 0 when it may now. */
  waitMs(now: number, ahead = 0): number {
    const next = this.#gapMs === 0 ? 0 : this.#emptyAt + (this.#started + ahead + 1) * this.#gapMs;
    // Clocks count whole milliseconds, and differences of monotonic times are not exact.
    return Math.ceil(Math.max(0, this.#holdUntil - now, next - now) - 0.001);
  }

  start(now: number, limit: number): void {
    this.#started += 1;
    if (this.#gapMs === 0) return;
    // A provider saves up no more than a burst for a time in which it was not asked.
    const saved = (now - this.#emptyAt) / this.#gapMs - this.#started;
    if (saved > limit) this.#emptyAt += (saved - limit) * this.#gapMs;
  }

  accept(limit: number): void {
    this.accepted += 1;
    if (!this.isLimited) return;
    this.#answersInRow += 1;
    this.#shortagesInRow = 0;
    this.#width = this.#gapMs === 0 ? this.#width + 1 : this.#width * 2;
    this.#gapMs *= 1 - Math.min(MAX_QUICKER, QUICKER * this.#answersInRow);
    if (this.#gapMs < 1) this.#gapMs = 0;
    if (this.#gapMs > 0 || this.#width < limit) return;
    this.#width = Number.POSITIVE_INFINITY;
    this.isLimited = false;
  }

  /**
   * Takes the refusal of a call; `startedAt` is the number of shortages when it started, `afterMs` the wait that the provider asks
   * for. Returns the milliseconds until calls start again.
   */
  refuse(startedAt: number, afterMs: number | undefined, now: number, limit: number): number {
    this.isLimited = true;
    if (startedAt === this.shortages) this.#runShort(afterMs, now, limit);
    else if (startedAt === this.shortages - 1) this.#learn({ ...this.#measured, calls: this.#measured.calls - 1 });
    // A provider that refuses again and again is asked less often than it says.
    const isKnown = afterMs !== undefined || this.#gapMs > 0;
    const doublings = this.#shortagesInRow - (isKnown ? BELIEVED : 1);
    const ownMs = doublings < 0 ? 0 : Math.min(MAX_HOLD_MS, FIRST_HOLD_MS * 2 ** doublings);
    this.#holdUntil = Math.max(this.#holdUntil, now + Math.max(afterMs ?? 0, ownMs));
    return this.waitMs(now);
  }

  /** Takes what a provider says of its limit beside an answer. It counts when less is left than calls could be under way. */
  hear({ limit: most, left, resetMs }: RateReport, now: number, limit: number): void {
    if (left >= limit || left >= most) return;
    this.isLimited = true;
    this.#gapMs = resetMs / (most - left);
    this.#emptyAt = now - left * this.#gapMs;
    this.#started = 0;
  }

  #runShort(afterMs: number | undefined, now: number, limit: number): void {
    const gapMs = this.#gapMs;
    // Part of the next call may be there already: the provider says how long the rest takes, else it is half.
    const emptyAt = now + (afterMs === undefined ? gapMs / 2 : Math.min(gapMs, afterMs)) - gapMs;
    this.#learn({ ms: emptyAt - this.#emptyAt, calls: this.#started - 1, gapMs });
    this.#emptyAt = emptyAt;
    this.#started = 0;
    this.shortages += 1;
    this.#shortagesInRow += 1;
    this.#answersInRow = 0;
    this.#width = this.#gapMs === 0 ? 1 : Math.max(1, Math.floor(this.widthOf(limit) / 2));
  }

  #learn(measured: { ms: number; calls: number; gapMs: number }): void {
    this.#measured = measured;
    const { ms, calls, gapMs } = measured;
    if (gapMs === 0 && (ms > MAX_LEARNED_MS || calls < 1)) return;
    // Nothing was accepted, or the refusal came too early to say anything.
    if (calls < 1 || ms <= 0) this.#gapMs = gapMs * SLOWER;
    else this.#gapMs = gapMs === 0 ? ms / calls : gapMs + (ms / calls - gapMs) * Math.min(1, calls / SURE);
  }
}
