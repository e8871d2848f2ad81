/**
 * The rate at which a provider takes calls, learned from its refusals. A refusal says that nothing is left; the calls that were
 * accepted between two refusals, and the time between them, say how fast more comes. Calls then start that far apart, a little
 * closer with each answer, so that a higher limit is found. Times are in milliseconds and monotonic.
 */

import type { RateReport } from "../../core/model.ts";

const FIRST_HOLD_MS = 500;
const MAX_HOLD_MS = 30_000;
/** A provider that takes nothing is asked again after this share of the time for which it has not. */
const HOLD_SHARE = 0.15;
/** Refusals further apart say nothing of a rate that is not known yet. */
const MAX_LEARNED_MS = 60_000;
/** Calls start that much closer with each answer, and once more for each answer since the last refusal. */
const QUICKER = 0.002;
const MAX_QUICKER = 0.2;
const SLOWER = 1.05;
/** One measure counts by its calls, up to this number. */
const SURE = 4;

/** When nothing was left, and when the provider said that there would be more. */
type Shortage = { readonly emptyAt: number; readonly moreAt: number | undefined; readonly gapMs: number };

const NONE: Shortage = { emptyAt: Number.NEGATIVE_INFINITY, moreAt: undefined, gapMs: 0 };

export class Pace {
  /** The number of shortages so far. A refused call that started before the latest one belongs to it. */
  shortages = 0;
  /** The number of calls that the provider has begun to answer, and the time of the last one. */
  accepted = 0;
  acceptedAt = Number.NEGATIVE_INFINITY;
  /** True while calls are held back. */
  isLimited = false;
  #width = Number.POSITIVE_INFINITY;
  /** Between two calls; 0 while the rate is not known. */
  #gapMs = 0;
  #emptyAt = NONE.emptyAt;
  #moreAt = NONE.moreAt;
  /** Calls since nothing was left. */
  #started = 0;
  #holdUntil = 0;
  /** The length of the last hold: what it costs to ask too early. */
  #holdMs = 0;
  #answersInRow = 0;
  /** The start of the time in which nothing is accepted. */
  #refusedSince = 0;
  /** The shortage before the latest one, and the calls that were accepted between them: later refusals of the latest one correct it. */
  #last = NONE;
  #calls = 0;

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

  accept(now: number, limit: number): void {
    this.accepted += 1;
    this.acceptedAt = now;
    if (!this.isLimited) return;
    this.#answersInRow += 1;
    this.#width = this.#gapMs === 0 ? this.#width + 1 : this.#width * 2;
    // The dearer a refusal, the longer the next one is put off.
    const daring = Math.min(1, this.#gapMs / this.#holdMs);
    this.#gapMs *= 1 - Math.min(MAX_QUICKER, QUICKER * daring * this.#answersInRow);
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
    else if (startedAt === this.shortages - 1) this.#learn(this.#calls - 1, now, afterMs);
    const askedMs = afterMs ?? (this.#gapMs === 0 ? FIRST_HOLD_MS : this.#gapMs / 2);
    const ownMs = Math.min(MAX_HOLD_MS, (now - this.#refusedSince) * HOLD_SHARE);
    this.#holdMs = Math.max(askedMs, ownMs, 1);
    this.#holdUntil = Math.max(this.#holdUntil, now + this.#holdMs);
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
    if (this.#answersInRow > 0 || this.shortages === 0) this.#refusedSince = now;
    this.#last = { emptyAt: this.#emptyAt, moreAt: this.#moreAt, gapMs: this.#gapMs };
    this.#learn(this.#started - 1, now, afterMs);
    this.#moreAt = afterMs === undefined ? undefined : now + afterMs;
    this.#started = 0;
    this.shortages += 1;
    const isAgain = this.#answersInRow === 0;
    this.#answersInRow = 0;
    this.#width = this.#gapMs === 0 || isAgain ? 1 : Math.max(1, Math.floor(this.widthOf(limit) / 2));
  }

  #learn(calls: number, now: number, afterMs: number | undefined): void {
    const { emptyAt, moreAt, gapMs } = this.#last;
    this.#calls = calls;
    this.#gapMs = gapMs;
    this.#emptyAt = emptyAt;
    // Nothing was accepted: this is the shortage before, which lasts.
    if (calls < 1 && this.shortages > 0) return;
    // Part of the next call may be there already: the provider says how long the rest takes, else it is half.
    this.#emptyAt = now + (afterMs === undefined ? gapMs / 2 : Math.min(gapMs, afterMs)) - gapMs;
    if (gapMs === 0) {
      const ms = afterMs !== undefined && moreAt !== undefined ? now + afterMs - moreAt : now - emptyAt;
      if (ms > 0 && ms <= MAX_LEARNED_MS) this.#gapMs = ms / calls;
      return;
    }
    const ms = this.#emptyAt - emptyAt;
    // The refusal came too early to say anything.
    if (ms <= 0) this.#gapMs = gapMs * SLOWER;
    else this.#gapMs = gapMs + (ms / calls - gapMs) * Math.min(1, calls / SURE);
  }
}
