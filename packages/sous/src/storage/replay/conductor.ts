/**
 * Hands a rerun what came from outside, one thing at a time and in the recorded order: answers, results, approval, words,
 * time. In between the runtime does what follows from it by itself, so parallel runs meet as they met then.
 */

import type { StoredEvent } from "../../core/event.ts";
import type { Playback } from "./playback.ts";

/** Something a person or a program did to the tree while it ran. */
export type ExternalAct = {
  /** The number before which this act takes place. */
  readonly key: number;
  /** The recorded run at whose start this is done, before the run does anything. */
  readonly atStartOf: string | undefined;
  isReady(): boolean;
  perform(): void;
};

/** Something that stopped a run. */
export type Cancel = { readonly event: StoredEvent; perform(): void };

/** The end of the rerun: by itself, where the recording ends, or waiting for what is not in it. */
type Conducted = "over" | "recording-ends" | "stuck";

type Held = { readonly key: number; readonly seq: number; readonly time: number; readonly release: () => void };

/** Real time, for what the runtime itself waits for, such as a schema that must be loaded. */
const PATIENCE_MS = 2000;
/** After this number of timers in a row nothing but time passes: then it passes at once. */
const MAX_IDLE_TIMERS = 500;
/** Work that still waits when everything is stopped has its time cut short, but not for ever. */
const MAX_CLOSING_TIMERS = 10_000;

export class Conductor {
  acts: ExternalAct[] = [];
  /** The cancels in the order of their events. */
  cancels: Cancel[] = [];
  readonly #order: Playback["order"];
  readonly #comparison: Playback["comparison"];
  readonly #clock: Playback["clock"];
  readonly #lastTime: number;
  /** The steps that wait, by key, the next one last. */
  readonly #held: Held[] = [];
  /** Live work by the number of its recorded result. */
  readonly #live = new Map<object, number>();
  readonly #closing = new AbortController();
  #onNews: (() => void) | undefined;
  #idleTimers = 0;

  constructor({ order, comparison, clock }: Pick<Playback, "order" | "comparison" | "clock">) {
    this.#order = order;
    this.#lastTime = order.lastTime;
    this.#comparison = comparison;
    this.#clock = clock;
  }

  /** Resolves when it is the turn of what led to this recorded event; without one, never. Rejects with the signal, if any. */
  turn(event: StoredEvent | undefined, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        const index = held === undefined ? -1 : this.#held.indexOf(held);
        if (index >= 0) this.#held.splice(index, 1);
        reject(signal?.reason);
      };
      const release = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const last = event && this.#order.lastConsequence(event);
      const held = event && last && { key: last.seq, seq: event.seq, time: this.#order.timeOf(last), release };
      if (held !== undefined) this.#hold(held);
      this.news();
    });
  }

  /** Aborts when the rerun is given up: what waits for its turn then waits in vain. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Waits for live work, and then for the turn of its recorded result. */
  async afterLive<T>(event: StoredEvent, work: PromiseLike<T>): Promise<T> {
    const token = {};
    this.#live.set(token, this.keyOf(event));
    try {
      return await work;
    } finally {
      this.#live.delete(token);
      await this.turn(event, undefined);
    }
  }

  keyOf(event: StoredEvent): number {
    return this.#order.lastConsequence(event).seq;
  }

  /** Runs until the rerun is over, or nothing more can happen in it. */
  async conduct(isOver: () => boolean): Promise<Conducted> {
    for (;;) {
      await quiet();
      if (isOver()) return "over";
      if (this.#next()) continue;
      if (this.#live.size > 0) await this.#newsWithin(undefined);
      else if (this.#comparison.isComplete) return "recording-ends";
      else if (this.#comparison.difference !== undefined) return "stuck";
      else if (!(await this.#newsWithin(PATIENCE_MS)) && !isOver()) return "stuck";
    }
  }

  /** Everything was told to stop: lets time pass for what gives up only after a while. */
  async close(isOver: () => boolean): Promise<void> {
    this.#closing.abort();
    for (let fired = 0; ; ) {
      await quiet();
      if (isOver()) return;
      if (this.#clock.fireBefore(Number.POSITIVE_INFINITY)) fired += 1;
      else await this.#newsWithin(PATIENCE_MS);
      if (fired > MAX_CLOSING_TIMERS) throw new Error("The rerun does not stop");
    }
  }

  /** Lets one thing happen; false when there is nothing, or live work comes first. */
  #next(): boolean {
    const [cancel] = this.cancels;
    // A cancel cuts off what would follow: what was recorded before it comes first.
    const held = cancel === undefined ? this.#held.at(-1) : this.#held.findLast(({ seq }) => seq < cancel.event.seq);
    const key = held?.key ?? cancel?.event.seq ?? Number.POSITIVE_INFINITY;
    const act = this.acts.find((each) => each.key < key && each.isReady());
    if (act !== undefined) {
      if (this.#isLiveBefore(act.key)) return false;
      this.acts.splice(this.acts.indexOf(act), 1);
      act.perform();
      return true;
    }
    if (held === undefined && cancel !== undefined) return this.#cancel(cancel);
    if (held === undefined) {
      return this.#live.size === 0 && this.#letPass(this.#lastTime + 1);
    }
    if (this.#isLiveBefore(key)) return false;
    const time = cancel === undefined ? held.time : Math.min(held.time, this.#order.timeOf(cancel.event));
    if (this.#letPass(time) || this.#fireFirst({ ...held, time })) return true;
    this.#clock.moveTo(time);
    this.#held.splice(this.#held.indexOf(held), 1);
    held.release();
    return true;
  }

  /** Fires the next timer before this time; false when there is none. A recording may span years. */
  #letPass(time: number): boolean {
    this.#idleTimers += 1;
    if (this.#idleTimers > MAX_IDLE_TIMERS) this.#clock.moveTo(time);
    if (this.#clock.fireBefore(time)) return true;
    this.#idleTimers = 0;
    return false;
  }

  /** Fires a timer of the same millisecond first only if something that is still missing was recorded before. */
  #fireFirst({ time, seq }: Pick<Held, "time" | "seq">): boolean {
    if (!this.#clock.isDueAt(time)) return false;
    const expected = this.#comparison.nextExpected;
    return expected !== undefined && expected.seq < seq && this.#clock.fireBefore(time + 1);
  }

  /** An event with the same number may be the one that the live work waits for. */
  #isLiveBefore(key: number): boolean {
    for (const each of this.#live.values()) if (each < key) return true;
    return false;
  }

  /** Stops the run when everything that was recorded before has come, as far as it can. */
  #cancel({ event, perform }: Cancel): boolean {
    const { seq } = event;
    const time = this.#order.timeOf(event);
    if (this.#isLiveBefore(seq)) return false;
    if (this.#letPass(time) || this.#fireFirst({ time, seq })) return true;
    this.cancels.shift();
    this.#clock.moveTo(time);
    perform();
    return true;
  }

  /**
   * An event of the rerun has come. A cancel that was recorded next comes now, before anything follows from the event. Only
   * where the run `isWaiting` for an answer by then does the cancel wait until all is quiet.
   */
  arrived(isWaiting: boolean): void {
    const [cancel] = this.cancels;
    if (cancel === undefined || isWaiting || this.#live.size > 0) return;
    if (this.#comparison.nextExpected !== cancel.event) return;
    this.cancels.shift();
    this.#clock.moveTo(this.#order.timeOf(cancel.event));
    cancel.perform();
  }

  #hold(held: Held): void {
    const isLater = ({ key, seq }: Held) => key > held.key || (key === held.key && seq > held.seq);
    const index = this.#held.findIndex((other) => !isLater(other));
    this.#held.splice(index < 0 ? this.#held.length : index, 0, held);
  }

  /** Called when something has happened in the rerun, or it is over. */
  readonly news = (): void => this.#onNews?.();

  /** Waits until something happens in the rerun; false when nothing did for this long. */
  #newsWithin(milliseconds: number | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = milliseconds === undefined ? undefined : setTimeout(() => end(false), milliseconds);
      const end = (isNews: boolean) => {
        clearTimeout(timer);
        this.#onNews = undefined;
        resolve(isNews);
      };
      this.#onNews = () => end(true);
    });
  }

  /** Called when a recorded run has just started again. */
  started(recordedRunId: string): void {
    for (const act of this.acts.filter(({ atStartOf }) => atStartOf === recordedRunId)) {
      this.acts.splice(this.acts.indexOf(act), 1);
      act.perform();
    }
  }
}

/** Resolves when promises, and what they queue, have run. */
function quiet(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
