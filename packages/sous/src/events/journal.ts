/** The journal of one tree: numbers every fact, has it kept by the store, and only then shows it. */

import type { Clock } from "../core/clock.ts";
import { messageOf, StaleOwner, StoreError } from "../core/errors.ts";
import type {
  DeltaBody,
  EventListener,
  PieceBody,
  RunIdentity,
  SousEvent,
  StoredBody,
  StoredEvent,
} from "../core/event.ts";
import type { Journal } from "../core/journal.ts";
import { NO_REDACTION, type Redactor } from "../core/redact.ts";
import type { Store } from "../core/store.ts";
import { buildDelta, buildEvent } from "./build-event.ts";
import { type Bus, createBus } from "./bus.ts";
import { redactBody, redactPiece } from "./redact-event.ts";

export type JournalOptions = {
  store: Pick<Store, "isImmediate" | "append">;
  rootId: string;
  clock: Pick<Clock, "now" | "lately" | "timer">;
  /** A store that fails for good makes `settled()` reject; otherwise the tree goes on and is marked as not kept. */
  requireStore: boolean;
  /** The number of the first event; greater than 1 when a stored tree goes on. */
  firstSeq?: number | undefined;
  /** The claim under which it writes, when a stored tree goes on. */
  fence?: number | undefined;
  hooks?: JournalHooks | undefined;
};

/** What the journal asks and tells the runtime around it. */
export type JournalHooks = {
  /** When the next batch is committed; `setImmediate` when unset. */
  schedule?: ((callback: () => void) => void) | undefined;
  /** True when only one run of the tree is not waiting for a child: nobody would join a batch, so it is not held back. */
  isAlone?: (() => boolean) | undefined;
  /** Told once, when the events of the tree are no longer kept. */
  onDegraded?: ((reason: string) => void) | undefined;
  /** Takes the secrets out of everything, before it is kept or shown. */
  redactor?: Redactor | undefined;
  /** Told the first fault of each listener. */
  onListenerError?: ((error: unknown) => void) | undefined;
};

export function createJournal(options: JournalOptions): Journal {
  return new TreeJournal(options);
}

/** How long to wait before each further attempt to write. */
const RETRY_DELAYS_MS: readonly number[] = [10, 40, 160];
/** A batch does not wait for more: a thousand children that wake up together would fill the memory with what is to be kept. */
const LARGEST_BATCH = 1024;
/** How long one write may take. */
const LONGEST_WRITE_MS = 30_000;

/** Events that are kept together, then shown. */
type Batch = {
  readonly stored: StoredEvent[];
  /** The stored events and the deltas between them; the same array as `stored` until there is a delta. */
  shown: SousEvent[];
  /** Made when somebody waits for it. */
  settled: PromiseWithResolvers<void> | undefined;
};

class TreeJournal implements Journal {
  degraded: string | undefined;
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
  /** What `settled()` rejects with, once a required store has failed for good. */
  #loss: StoreError | undefined;

  constructor(options: JournalOptions) {
    this.#rootId = options.rootId;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#requireStore = options.requireStore;
    this.#hooks = options.hooks ?? {};
    this.#schedule = this.#hooks.schedule ?? setImmediate;
    this.#bus = createBus(this.#hooks.onListenerError);
    this.#redactor = this.#hooks.redactor ?? NO_REDACTION;
    this.#nextSeq = options.firstSeq ?? 1;
    this.#fence = options.fence;
  }

  get isWatched(): boolean {
    return this.#bus.isWatched;
  }

  subscribe(listener: EventListener): Disposable {
    return this.#bus.subscribe(listener);
  }

  append(who: RunIdentity, body: StoredBody): void {
    const event = buildEvent(this.#nextSeq++, this.#clock.now(), who, redactBody(body, this.#redactor));
    const waiting = this.#waiting;
    if (waiting !== undefined) {
      waiting.stored.push(event);
      if (waiting.shown !== waiting.stored) waiting.shown.push(event);
      if (waiting.stored.length >= LARGEST_BATCH && this.#inFlight === undefined) this.#commit();
      return;
    }
    const events = [event];
    this.#waiting = { stored: events, shown: events, settled: undefined };
    this.#goOn();
  }

  delta(who: RunIdentity, body: DeltaBody): void {
    if (!this.#bus.isWatched) return;
    const time = this.#clock.lately?.() ?? this.#clock.now();
    const event = buildDelta(time, who, "limit" in body ? body : redactPiece(body, this.#pieces(who, body.type)));
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
  #goOn(): void {
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
    else this.#write(batch, 0);
  }

  #write(batch: Batch, attempt: number): void {
    let kept: void | Promise<void>;
    try {
      kept = this.#store.append(this.#rootId, batch.stored, this.#fence);
    } catch (error) {
      this.#retry(batch, attempt, error);
      return;
    }
    // A store that works at once costs no tick.
    if (kept === undefined) {
      this.#finish(batch);
      return;
    }
    this.#await(kept, batch, attempt);
  }

  /** A store that never answers must not stop the run for ever: whatever comes first decides. */
  #await(kept: Promise<void>, batch: Batch, attempt: number): void {
    let isDecided = false;
    const decide = (then: () => void) => {
      if (isDecided) return;
      isDecided = true;
      deadline[Symbol.dispose]();
      then();
    };
    const deadline = this.#clock.timer(LONGEST_WRITE_MS, () => {
      const reason = `The store did not say for ${LONGEST_WRITE_MS / 1000} s whether it kept event ${batch.stored[0]?.seq}`;
      decide(() => this.#giveUp(batch, reason, undefined));
    });
    kept.then(
      () => decide(() => this.#finish(batch)),
      (error: unknown) => decide(() => this.#retry(batch, attempt, error)),
    );
  }

  #retry(batch: Batch, attempt: number, error: unknown): void {
    if (error instanceof StaleOwner) {
      this.#stop(batch, error);
      return;
    }
    const delay = RETRY_DELAYS_MS[attempt];
    if (delay !== undefined) {
      this.#clock.timer(delay, () => this.#write(batch, attempt + 1));
      return;
    }
    const reason = `The store failed ${attempt + 1} times to keep event ${batch.stored[0]?.seq}: ${messageOf(error)}`;
    this.#giveUp(batch, reason, error);
  }

  /** From here on the events of the tree are shown and not kept. */
  #giveUp(batch: Batch, why: string, cause: unknown): void {
    const reason = this.#redactor.text(why);
    this.degraded = reason;
    if (this.#requireStore) this.#loss = new StoreError(reason, { cause });
    this.#finish(batch);
    this.#hooks.onDegraded?.(reason);
  }

  /** Somebody else goes on with the tree, so this one must not, whether or not its store was required. */
  #stop(batch: Batch, error: StaleOwner): void {
    this.degraded = error.message;
    this.#loss = error;
    this.#finish(batch);
  }

  /** Shows a batch that is kept, or that never will be, and turns to what came meanwhile. */
  #finish(batch: Batch): void {
    for (const event of batch.shown) this.#bus.publish(event);
    this.#inFlight = undefined;
    if (this.#loss === undefined) batch.settled?.resolve();
    else batch.settled?.reject(this.#loss);
    this.#goOn();
  }
}
