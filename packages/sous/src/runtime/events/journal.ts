/** The journal of one tree: numbers every fact, stores it, and only then shows it. */

import { NO_REDACTION, type Redactor } from "../../core/clean-text.ts";
import type { Clock } from "../../core/clock.ts";
import { messageOf, StaleOwner, StoreError } from "../../core/errors.ts";
import type {
  DeltaBody,
  EventListener,
  ForeignEvent,
  PieceBody,
  RunIdentity,
  SousEvent,
  StoredBody,
  StoredEvent,
} from "../../core/event.ts";
import type { Store } from "../../core/store.ts";
import type { Journal } from "../../core/tree-ports.ts";
import { buildDelta, buildEvent, isPiece } from "./build-event.ts";
import { Bus } from "./bus.ts";
import { redactBody, redactDelta, redactPiece } from "./redact-event.ts";

export type JournalOptions = {
  store: Pick<Store, "isImmediate" | "append">;
  rootId: string;
  clock: Pick<Clock, "now" | "lately" | "timer">;
  /** True: a store that fails for good makes `settled()` reject. False: the tree continues and is marked as not stored. */
  requireStore: boolean;
  /** The number of the first event; greater than 1 when a stored tree continues. */
  firstSeq?: number | undefined;
  /** The claim under which it writes, when a stored tree continues. */
  fence?: number | undefined;
  hooks?: JournalHooks | undefined;
};

/** Callbacks to the runtime around the journal. */
export type JournalHooks = {
  /** Schedules the commit of the next batch; `setImmediate` when unset. */
  schedule?: ((callback: () => void) => void) | undefined;
  /** True when only one run of the tree is not waiting for a child: no other run would join a batch, so it is not held back. */
  isAlone?: (() => boolean) | undefined;
  /** Called once, when the events of the tree are no longer stored. */
  onDegraded?: ((reason: string) => void) | undefined;
  /** Called once, when `settled()` rejects from now on: no run of the tree continues here. */
  onLost?: (() => void) | undefined;
  /** Removes secrets from everything before it is stored or shown. */
  redactor?: Redactor | undefined;
  /** Called with the first fault of each listener. */
  onListenerError?: ((error: unknown) => void) | undefined;
};

export function createJournal(options: JournalOptions): Journal {
  return new TreeJournal(options);
}

/** The wait before each further attempt to write. */
const RETRY_DELAYS_MS: readonly number[] = [10, 40, 160];
/** Commits at this size, to bound memory when many children wake at once. */
const MAX_BATCH = 1024;
/** The time that one write may take. */
const MAX_WRITE_MS = 30_000;

/** Events that are stored together, then shown. */
type Batch = {
  readonly stored: StoredEvent[];
  /** The stored events and the deltas between them; the same array as `stored` until there is a delta. */
  shown: SousEvent[];
  /** The promise is made on first use. */
  settled: PromiseWithResolvers<void> | undefined;
};

class TreeJournal implements Journal {
  degraded: string | undefined;
  shownSeq: number;
  readonly #rootId: string;
  readonly #store: JournalOptions["store"];
  readonly #clock: JournalOptions["clock"];
  readonly #requireStore: boolean;
  readonly #hooks: JournalHooks;
  readonly #schedule: (callback: () => void) => void;
  readonly #bus: Bus;
  readonly #redactor: Redactor;
  readonly #fence: number | undefined;
  readonly #streams = new WeakMap<RunIdentity, Record<PieceBody["type"], (piece: string) => string>>();
  #nextSeq: number;
  /** The batch that is being written or shown: one at a time, so that nothing overtakes it. */
  #inFlight: Batch | undefined;
  /** The batch that events join now. */
  #waiting: Batch | undefined;
  #isScheduled = false;
  /** The error with which `settled()` rejects, once a required store has failed for good. */
  #loss: StoreError | undefined;

  constructor(options: JournalOptions) {
    this.#rootId = options.rootId;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#requireStore = options.requireStore;
    this.#hooks = options.hooks ?? {};
    this.#schedule = this.#hooks.schedule ?? setImmediate;
    this.#bus = new Bus(this.#hooks.onListenerError);
    this.#redactor = this.#hooks.redactor ?? NO_REDACTION;
    this.#nextSeq = options.firstSeq ?? 1;
    this.shownSeq = this.#nextSeq - 1;
    this.#fence = options.fence;
  }

  get isWatched(): boolean {
    return this.#bus.isWatched;
  }

  subscribe(listener: EventListener): Disposable {
    return this.#bus.subscribe(listener);
  }

  append(who: RunIdentity, body: StoredBody): void {
    // guard: event-number
    const event = buildEvent(this.#nextSeq++, this.#clock.now(), who, redactBody(body, this.#redactor));
    const waiting = this.#waiting;
    if (waiting !== undefined) {
      waiting.stored.push(event);
      if (waiting.shown !== waiting.stored) waiting.shown.push(event);
      if (waiting.stored.length >= MAX_BATCH && this.#inFlight === undefined) this.#commit();
      return;
    }
    const events = [event];
    this.#waiting = { stored: events, shown: events, settled: undefined };
    this.#writeNext();
  }

  delta(who: RunIdentity, body: DeltaBody): void {
    if (!this.#bus.isWatched) return;
    const time = this.#clock.lately?.() ?? this.#clock.now();
    const event = buildDelta(time, who, this.#redactDelta(who, body));
    const waiting = this.#waiting;
    if (waiting !== undefined) {
      if (waiting.shown === waiting.stored) waiting.shown = [...waiting.stored];
      waiting.shown.push(event);
    } else if (this.#inFlight !== undefined) {
      this.#waiting = { stored: [], shown: [event], settled: undefined };
    } else {
      this.#bus.publish(event);
    }
  }

  showForeign(event: StoredEvent, journalId: string): void {
    const shown: ForeignEvent = { ...event, journalId };
    if (this.#bus.isWatched) this.#bus.publish(shown);
  }

  async leave(reason: string): Promise<void> {
    const writing = this.#inFlight;
    if (writing !== undefined && writing.stored.length > 0) writing.settled ??= Promise.withResolvers();
    this.degraded ??= reason;
    this.#lose(new StaleOwner(reason));
    await writing?.settled?.promise.catch(() => undefined);
  }

  #redactDelta(who: RunIdentity, body: DeltaBody): DeltaBody {
    return isPiece(body) ? redactPiece(body, this.#pieces(who, body.type)) : redactDelta(body, this.#redactor);
  }

  /** A run streams an answer and its thoughts, each of them piece by piece. */
  #pieces(who: RunIdentity, type: PieceBody["type"]): (piece: string) => string {
    let streams = this.#streams.get(who);
    if (streams === undefined) {
      streams = { "text-delta": this.#redactor.pieces(), "reasoning-delta": this.#redactor.pieces() };
      this.#streams.set(who, streams);
    }
    return streams[type];
  }

  settled(): Promise<void> | undefined {
    if (this.#waiting !== undefined && this.#inFlight === undefined && this.#hooks.isAlone?.()) this.#commit();
    const waiting = this.#waiting;
    const batch = waiting !== undefined && waiting.stored.length > 0 ? waiting : this.#inFlight;
    if (batch !== undefined) {
      batch.settled ??= Promise.withResolvers();
      return batch.settled.promise;
    }
    return this.#loss === undefined ? undefined : Promise.reject(this.#loss);
  }

  /** Decides when the waiting batch is written; called when there is one, or when a batch is done. */
  #writeNext(): void {
    const waiting = this.#waiting;
    if (waiting === undefined || this.#inFlight !== undefined) return;
    if (this.#store.isImmediate || this.degraded !== undefined || waiting.stored.length === 0) {
      this.#commit();
    } else if (!this.#isScheduled) {
      this.#isScheduled = true;
      this.#schedule(this.#onSchedule);
    }
  }

  readonly #onSchedule = (): void => {
    this.#isScheduled = false;
    if (this.#inFlight === undefined) this.#commit();
  };

  #commit(): void {
    const batch = this.#waiting;
    if (batch === undefined) return;
    this.#waiting = undefined;
    this.#inFlight = batch;
    if (this.degraded !== undefined || batch.stored.length === 0) this.#finish(batch);
    else this.#write(batch, 0); // guard: store-before-show
  }

  #write(batch: Batch, attempt: number): void {
    let storing: void | Promise<void>;
    try {
      storing = this.#store.append(this.#rootId, batch.stored, this.#fence);
    } catch (error) {
      this.#retry(batch, attempt, error);
      return;
    }
    // A store that works at once costs no tick.
    if (storing === undefined) {
      this.#finish(batch);
      return;
    }
    this.#await(storing, batch, attempt);
  }

  /** Bounds the wait for the store: the answer or the deadline decides, whichever is first. */
  #await(storing: Promise<void>, batch: Batch, attempt: number): void {
    let isDecided = false;
    const decide = (then: () => void) => {
      if (isDecided) return;
      isDecided = true;
      deadline[Symbol.dispose]();
      then();
    };
    const deadline = this.#clock.timer(MAX_WRITE_MS, () => {
      const reason = `The store did not say for ${MAX_WRITE_MS / 1000} s whether it kept event ${batch.stored[0]?.seq}`;
      decide(() => this.#giveUp(batch, reason, undefined));
    });
    storing.then(
      () => decide(() => this.#finish(batch)),
      (error: unknown) => decide(() => this.#retry(batch, attempt, error)),
    );
  }

  #retry(batch: Batch, attempt: number, error: unknown): void {
    if (error instanceof StaleOwner) {
      this.#stop(batch, error);
      return;
    }
    const delay = RETRY_DELAYS_MS[attempt]; // guard: retry-delay
    if (delay !== undefined) {
      this.#clock.timer(delay, () => this.#write(batch, attempt + 1)); // guard: write-again
      return;
    }
    const reason = `The store failed ${attempt + 1} times to keep event ${batch.stored[0]?.seq}: ${messageOf(error)}`;
    this.#giveUp(batch, reason, error); // guard: tell-of-a-loss
  }

  /** Gives up the store: the events of the tree are shown and not stored from here on. */
  #giveUp(batch: Batch, why: string, cause: unknown): void {
    const reason = this.#redactor.text(why);
    this.degraded = reason;
    if (this.#requireStore) this.#lose(new StoreError(reason, { cause })); // guard: required-store
    this.#finish(batch);
    this.#hooks.onDegraded?.(reason);
  }

  /** Another owner continues the tree, so this one must stop, whether or not its store was required. */
  #stop(batch: Batch, error: StaleOwner): void {
    this.degraded = error.message;
    this.#lose(error);
    this.#finish(batch);
  }

  #lose(loss: StoreError): void {
    const isFirst = this.#loss === undefined;
    this.#loss ??= loss;
    if (isFirst) this.#hooks.onLost?.();
  }

  /** Shows a batch that is stored, or never will be, and continues with the next. */
  #finish(batch: Batch): void {
    this.shownSeq = batch.stored.at(-1)?.seq ?? this.shownSeq;
    for (const event of batch.shown) this.#bus.publish(event);
    this.#inFlight = undefined;
    if (this.#loss === undefined) batch.settled?.resolve();
    else batch.settled?.reject(this.#loss);
    this.#writeNext();
  }
}
