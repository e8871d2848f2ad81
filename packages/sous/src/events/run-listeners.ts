/** Listeners for single runs: each hears its own run only, and all of them share one subscription to the tree. */

import type { EventListener, Journal } from "../core/event.ts";

export class RunListeners {
  readonly #journal: Pick<Journal, "subscribe">;
  readonly #byRun = new Map<string, EventListener>();
  #isSubscribed = false;

  constructor(journal: Pick<Journal, "subscribe">) {
    this.#journal = journal;
  }

  /** Hears the run from its start to its `run-end`, then forgets it. */
  add(runId: string, listener: EventListener): void {
    this.#byRun.set(runId, listener);
    if (this.#isSubscribed) return;
    this.#isSubscribed = true;
    this.#journal.subscribe((event) => {
      const own = this.#byRun.get(event.runId);
      if (event.type === "run-end") this.#byRun.delete(event.runId);
      return own?.(event);
    });
  }
}
