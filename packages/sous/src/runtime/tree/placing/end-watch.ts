/** The ends of placed runs, for all in a process that wait for one: asked for together. */

import type { News, Placing } from "../../../core/engine.ts";
import { messageOf, StoreError } from "../../../core/errors.ts";
import type { EventOf } from "../../../core/event.ts";
import { onDispose } from "../../../core/scope.ts";

type End = EventOf<"run-end">;

/** A store that fails this often in a row, twice a second, ends the waits. */
const MAX_FAULTS = 60;

const watches = new WeakMap<Placing, EndWatch>();

export function endWatchOf(placing: Placing): EndWatch {
  const watch = watches.get(placing) ?? new EndWatch(placing);
  watches.set(placing, watch);
  return watch;
}

/** A wait for one end, shared by all that wait for it. */
type Waited = PromiseWithResolvers<End> & { users: number };

/** Waits until it is disposed. */
type EndWait = Disposable & { readonly ended: Promise<End> };

export class EndWatch {
  readonly #placing: Placing;
  readonly #waits = new Map<string, Waited>();
  #listening: Disposable | undefined;
  /** The journals to ask about next; all of them when it is not known which have news. */
  #due: Set<string> | "all" | undefined;
  #isAsking = false;
  #faults = 0;

  constructor(placing: Placing) {
    this.#placing = placing;
  }

  /**
   * `ended` resolves when the first run of the journal has ended, and rejects when the store cannot be asked for half a minute. Dispose
   * it, or the process waits on: a run that waits for an answer may do so for days.
   */
  wait(journalId: string): EndWait {
    const wait = this.#waits.get(journalId) ?? { ...Promise.withResolvers<End>(), users: 0 };
    wait.users += 1;
    if (wait.users === 1) {
      this.#waits.set(journalId, wait);
      this.#listening ??= this.#placing.listen((news) => this.#hear(news));
      this.#hear({ kind: "ended", journalId });
    }
    const leave = onDispose(() => {
      wait.users -= 1;
      if (wait.users === 0 && this.#waits.get(journalId) === wait) this.#waits.delete(journalId);
      this.#rest();
    });
    return { ended: wait.promise, [Symbol.dispose]: () => leave[Symbol.dispose]() };
  }

  #hear({ kind, journalId }: News): void {
    if (kind === "all") this.#due = "all";
    else if (kind !== "ended" || journalId === undefined || !this.#waits.has(journalId)) return;
    else if (this.#due === undefined) this.#due = new Set([journalId]);
    else if (this.#due !== "all") this.#due.add(journalId);
    if (!this.#isAsking) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    // Everything heard in the same turn of the event loop is one question.
    await new Promise((resolve) => setImmediate(resolve));
    for (let due = this.#due; due !== undefined && this.#waits.size > 0; due = this.#due) {
      this.#due = undefined;
      const ids = due === "all" ? [...this.#waits.keys()] : [...due].filter((id) => this.#waits.has(id));
      try {
        for (const end of ids.length === 0 ? [] : await this.#placing.ends(ids)) this.#settle(end.runId, end);
        this.#faults = 0;
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#isAsking = false;
    this.#rest();
  }

  #rest(): void {
    if (this.#waits.size > 0) return;
    this.#listening?.[Symbol.dispose]();
    this.#listening = undefined;
  }

  #settle(journalId: string, end: End): void {
    const wait = this.#waits.get(journalId);
    this.#waits.delete(journalId);
    wait?.resolve(end);
  }

  #failed(error: unknown): void {
    this.#faults += 1;
    if (this.#faults < MAX_FAULTS) return;
    const lost = new StoreError(`Placed runs could not be waited for: ${messageOf(error)}`, { cause: error });
    for (const wait of this.#waits.values()) wait.reject(lost);
    this.#waits.clear();
  }
}
