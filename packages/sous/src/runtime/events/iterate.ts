/** The events of a tree as an async iterator: one more subscriber, with a bounded memory. */

import { StoreError } from "../../core/errors.ts";
import type { ForeignEvent, SousEvent, StoredEvent } from "../../core/event.ts";
import { textOf } from "../../core/message.ts";
import type { Store } from "../../core/store.ts";
import type { Journal } from "../../core/tree-ports.ts";

type IterateOptions = {
  journal: Pick<Journal, "subscribe" | "degraded" | "shownSeq">;
  /** The store from which events that did not fit are read again. */
  store: Pick<Store, "read">;
  /** The tree. */
  rootId: string;
  /** The run whose `run-end` is the last event; the root when unset. */
  runId?: string | undefined;
  limits?: BufferLimits | undefined;
};

/** Max of the events that wait for a reader. */
type BufferLimits = { events: number; characters: number };

const DEFAULT_LIMITS: BufferLimits = { events: 1024, characters: 4_000_000 };

type Events = AsyncIterableIterator<SousEvent, undefined> & EventIteration;

/**
 * Begins with the event that follows the call. A reader that is too slow loses deltas and nothing else: stored events are
 * read again from the store. `return()` unsubscribes.
 */
export function iterateEvents(options: IterateOptions): Events {
  return new EventIterator(options, 0);
}

/**
 * Begins behind the event with the number `after`: what was shown since is read from the store, without its deltas. What
 * the store has lost is missing.
 */
export function iterateSince(after: number, options: IterateOptions): Events {
  const { shownSeq } = options.journal;
  const live = new EventIterator(options, shownSeq);
  if (after >= shownSeq) return live;
  const all = earlierThenLive({ after, shownSeq }, options, live);
  return {
    next: () => all.next(),
    async return() {
      // Ends the reader that waits for a live event, which the generator would wait for.
      await live.return();
      return all.return(undefined);
    },
    finish: () => live.finish(),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* earlierThenLive(
  { after, shownSeq }: { after: number; shownSeq: number },
  { journal, store, rootId, runId = rootId }: IterateOptions,
  live: Events,
): AsyncGenerator<SousEvent, undefined> {
  try {
    for (let last = after; last < shownSeq; ) {
      const events = await store.read(rootId, { after: last, limit: READ_AT_ONCE });
      if (events.length === 0 && journal.degraded !== undefined) break;
      if (events.length === 0) throw new StoreError(`The store lost the events of tree ${rootId} after ${last}`);
      for (const event of events) {
        if (event.seq > shownSeq) break;
        yield event;
        if (event.type === "run-end" && event.runId === runId) return;
      }
      last = events.at(-1)?.seq ?? shownSeq;
    }
    yield* live;
  } finally {
    await live.return?.();
  }
}

export type EventIteration = {
  /** No event comes any more. Without a `run-end` the iteration ends with what is left to read. */
  finish(): void;
};

/** The number of events that a reader that fell behind takes from the store at once. */
const READ_AT_ONCE = 64;

type Result = IteratorResult<SousEvent, undefined>;

const DONE: Result = { value: undefined, done: true };

class EventIterator implements AsyncIterableIterator<SousEvent, undefined>, EventIteration {
  readonly #options: IterateOptions;
  readonly #limits: BufferLimits;
  readonly #subscription: Disposable;
  /** Events that wait for a reader. */
  #buffer: SousEvent[] = [];
  #characters = 0;
  /** Readers that wait for an event: then the buffer is empty. */
  readonly #readers: PromiseWithResolvers<Result>[] = [];
  /** The last stored event that went into the buffer or to a reader. */
  #lastSeq: number;
  /** Set while the reader is behind: the last event that has to be read again. */
  #missedSeq: number | undefined;
  /** Came while the reader was behind, and the store does not have them. */
  #unkept: StoredEvent[] = [];
  #isReadingAgain = false;
  #isDone = false;
  /** The last event has come, though perhaps not yet to a reader. */
  #hasLast = false;
  /** No event comes any more: the iteration ends with what is left. */
  #isFinished = false;

  /** Begins with the first event behind `lastSeq`. */
  constructor(options: IterateOptions, lastSeq: number) {
    this.#lastSeq = lastSeq;
    this.#options = options;
    this.#limits = options.limits ?? DEFAULT_LIMITS;
    this.#subscription = options.journal.subscribe((event) => this.#receive(event));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    const event = this.#buffer.shift();
    if (event !== undefined) {
      this.#characters -= charactersOf(event);
      return Promise.resolve(this.#handOut(event));
    }
    if (this.#isFinished && this.#missedSeq === undefined) this.#end();
    if (this.#isDone) return Promise.resolve(DONE);
    const reader = Promise.withResolvers<Result>();
    this.#readers.push(reader);
    if (this.#missedSeq !== undefined && !this.#isReadingAgain) void this.#readAgain();
    return reader.promise;
  }

  return(): Promise<Result> {
    this.#end();
    return Promise.resolve(DONE);
  }

  finish(): void {
    if (this.#hasLast) return;
    this.#isFinished = true;
    if (this.#buffer.length === 0 && this.#missedSeq === undefined) this.#end();
  }

  #receive(event: SousEvent): void {
    if (this.#isLast(event)) this.#hasLast = true;
    if (isForeign(event)) {
      if (this.#missedSeq === undefined) this.#pass(event);
      else this.#unkept.push(event);
      return;
    }
    // The store may have had it before it was shown, and so the reader.
    if (event.seq !== undefined && event.seq <= this.#lastSeq) return;
    if (this.#missedSeq !== undefined) {
      if (event.seq === undefined) return;
      if (this.#options.journal.degraded === undefined) this.#missedSeq = event.seq;
      else this.#unkept.push(event);
      return;
    }
    this.#pass(event);
    if (this.#buffer.length > this.#limits.events || this.#characters > this.#limits.characters) this.#dropDeltas();
  }

  /** Passes the event to the reader who waits, or into the buffer. */
  #pass(event: SousEvent): void {
    if (this.#isDone) return;
    if (event.seq !== undefined && !isForeign(event)) {
      // A store that was given up may hold the event after all: then it arrives twice.
      if (event.seq <= this.#lastSeq) return;
      this.#lastSeq = event.seq;
    }
    const reader = this.#readers.shift();
    if (reader !== undefined) {
      reader.resolve(this.#handOut(event));
      return;
    }
    this.#buffer.push(event);
    this.#characters += charactersOf(event);
  }

  #handOut(event: SousEvent): Result {
    if (this.#isLast(event)) this.#end();
    return { value: event, done: false };
  }

  #isLast(event: SousEvent): boolean {
    return event.type === "run-end" && event.runId === (this.#options.runId ?? this.#options.rootId);
  }

  /** Makes room; when the stored events alone fill half of it, those that follow are read again later. */
  #dropDeltas(): void {
    this.#buffer = this.#buffer.filter((event) => event.seq !== undefined);
    this.#characters = 0;
    for (const event of this.#buffer) this.#characters += charactersOf(event);
    const { events, characters } = this.#limits;
    if (this.#buffer.length > events / 2 || this.#characters > characters / 2) this.#missedSeq = this.#lastSeq;
  }

  async #readAgain(): Promise<void> {
    this.#isReadingAgain = true;
    try {
      while (this.#missedSeq !== undefined && this.#readers.length > 0) await this.#readSome(this.#missedSeq);
    } catch (error) {
      for (const reader of this.#readers.splice(0)) reader.reject(error);
      this.#end();
    }
    this.#isReadingAgain = false;
  }

  async #readSome(missedSeq: number): Promise<void> {
    const { store, rootId } = this.#options;
    if (this.#lastSeq < missedSeq) {
      const events = await store.read(rootId, { after: this.#lastSeq, limit: READ_AT_ONCE });
      if (events.length === 0)
        throw new StoreError(`The store lost the events of tree ${rootId} after ${this.#lastSeq}`);
      for (const event of events) this.#pass(event);
    }
    // More may have come meanwhile: the reader is live again only when it has read everything.
    if (this.#missedSeq !== undefined && this.#lastSeq >= this.#missedSeq) {
      this.#missedSeq = undefined;
      for (const event of this.#unkept.splice(0)) this.#pass(event);
      if (this.#isFinished && this.#buffer.length === 0) this.#end();
    }
  }

  #end(): void {
    this.#isDone = true;
    this.#subscription[Symbol.dispose]();
    this.#buffer = [];
    this.#missedSeq = undefined;
    this.#unkept = [];
    for (const reader of this.#readers.splice(0)) reader.resolve(DONE);
  }
}

/** True for an event of another journal, where it has its number: it is not read again from this one. */
function isForeign(event: SousEvent): event is ForeignEvent {
  return "journalId" in event;
}

/** Roughly: what can be long is counted, the rest is small. */
function charactersOf(event: SousEvent): number {
  switch (event.type) {
    case "text-delta":
    case "reasoning-delta":
    case "tool-progress":
      return event.text.length;
    case "tool-call-end":
      return event.output.length;
    case "message-end":
      return textOf(event.message).length;
    default:
      return 0;
  }
}
