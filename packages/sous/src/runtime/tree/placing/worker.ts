/** A worker of the store: takes placed runs that no other has, as many at once as it has places. */

import type { TakenJournal, WorkerFacts } from "../../../core/engine.ts";
import { ignore } from "../../../core/errors.ts";
import { Scope } from "../../../core/scope.ts";
import { type WorkEnd, type WorkParts, workOn } from "./work-on.ts";

/** The options of a worker. */
export type WorkerOptions = Partial<Pick<WorkerFacts, "name" | "places" | "folder">> & {
  /** Called when it takes a run, and when it is done with it. `left`: another worker continues it. */
  onRun?: ((news: WorkerNews) => void) | undefined;
};

/** News of a run that a worker takes: `taken` first, then one of the others. */
export type WorkerNews = { readonly runId: string; readonly state: "taken" | WorkEnd; readonly error?: unknown };

/** A worker at work. `stop` takes nothing more, gives back what it has within moments, and resolves then. */
export type Worker = AsyncDisposable & {
  readonly name: string;
  readonly running: number;
  stop(): Promise<void>;
};

const DEFAULT_PLACES = 50;

export async function startWorker(parts: WorkParts, options: WorkerOptions, defaultName: string): Promise<Worker> {
  const { name = defaultName, places = DEFAULT_PLACES, folder, onRun = ignore } = options;
  const known = [...(parts.roots?.names ?? []), ...(parts.options.agents ?? []).map((each) => each.name)];
  const facts = { name, places, agents: [...new Set(known)], ...(folder !== undefined && { folder }) };
  const worker = new StoreWorker(parts, facts, onRun);
  await worker.start();
  return worker;
}

class StoreWorker implements Worker {
  readonly name: string;
  readonly #parts: WorkParts;
  readonly #facts: WorkerFacts;
  readonly #onRun: (news: WorkerNews) => void;
  readonly #leaving = new Scope();
  readonly #running = new Set<Promise<void>>();
  /** One for each run that is open: a run that only waits for children on workers takes no place, or they could never be taken. */
  readonly #waits = new Set<() => boolean>();
  #enlisted: AsyncDisposable | undefined;
  #listening: Disposable | undefined;
  #isTaking = false;
  /** There may be more since it was last asked. */
  #mayTake = false;
  /** Set while others are to take what this process could not begin. */
  #pause: Disposable | undefined;

  constructor(parts: WorkParts, facts: WorkerFacts, onRun: (news: WorkerNews) => void) {
    this.name = facts.name;
    this.#parts = parts;
    this.#facts = facts;
    this.#onRun = onRun;
  }

  get running(): number {
    return this.#running.size;
  }

  async start(): Promise<void> {
    const { placing } = this.#parts.placed;
    this.#enlisted = await placing.enlist(this.#facts);
    this.#listening = placing.listen(({ kind }) => {
      if (kind === "placed" || kind === "all") this.#look();
    });
    this.#look();
  }

  async stop(): Promise<void> {
    this.#listening?.[Symbol.dispose]();
    this.#pause?.[Symbol.dispose]();
    this.#leaving.abort(new Error("The worker stops"));
    while (this.#running.size > 0) await Promise.all(this.#running);
    await this.#enlisted?.[Symbol.asyncDispose]();
    this.#enlisted = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #look(): void {
    this.#mayTake = true;
    if (!this.#isTaking && this.#pause === undefined) void this.#takeAll().catch(ignore);
  }

  async #takeAll(): Promise<void> {
    this.#isTaking = true;
    try {
      while (this.#mayTake && !this.#leaving.aborted) {
        this.#mayTake = false;
        const free = this.#facts.places - this.#running.size + this.#waiting;
        if (free <= 0) return;
        const taken = await this.#parts.placed.placing.take(this.#facts, Math.min(free, MOST_AT_ONCE));
        for (const each of taken) this.#begin(each);
        if (taken.length === MOST_AT_ONCE) this.#mayTake = true;
      }
    } finally {
      this.#isTaking = false;
    }
  }

  get #waiting(): number {
    let waiting = 0;
    for (const isWaiting of this.#waits) if (isWaiting()) waiting += 1;
    return waiting;
  }

  #begin(taken: TakenJournal): void {
    const work = this.#work(taken).finally(() => {
      this.#running.delete(work);
      if (!this.#leaving.aborted) this.#look();
    });
    this.#running.add(work);
  }

  async #work(taken: TakenJournal): Promise<void> {
    const { journalId: runId } = taken;
    this.#onRun({ runId, state: "taken" });
    let isWaiting: (() => boolean) | undefined;
    const onOpen = (given: () => boolean): void => {
      isWaiting = given;
      this.#waits.add(given);
    };
    try {
      const state = await workOn(this.#parts, taken, { worker: this.name, leaving: this.#leaving, onOpen });
      this.#onRun({ runId, state });
    } catch (error) {
      this.#onRun({ runId, state: "left", error });
      this.#rest();
    } finally {
      if (isWaiting !== undefined) this.#waits.delete(isWaiting);
    }
  }

  /** Leaves the run that it could not begin to the others: it would take it again at once. */
  #rest(): void {
    this.#pause?.[Symbol.dispose]();
    const again = (): void => {
      this.#pause = undefined;
      this.#look();
    };
    this.#pause = this.#parts.host.clock.timer(PAUSE_MS, again, true);
  }
}

const PAUSE_MS = 1_000;

/** Taken with one statement. A few at a time, so that other workers get their share of what comes in at once. */
const MOST_AT_ONCE = 16;
