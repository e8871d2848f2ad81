/** Metrics of a database: what all processes that store runs there have done, read page by page. */

import type { Placing, WorkerState } from "../../core/engine.ts";
import type { Store } from "../../core/store.ts";
import type { Tally, Totals } from "../../core/totals.ts";
import { UNENDED_STATUSES } from "../../core/words/outcomes.ts";
import { activeReadings, addAt, countEnd, countSpend, type GaugeReading, type Meter } from "./meter.ts";
import { type KnownModels, ModelNames } from "./model-names.ts";

export type StoredMetrics = {
  /**
   * Adds what was stored since the last time. Calls that come while it reads share its work. When it rejects, everything read
   * so far stays counted, and the next call continues there.
   */
  refresh(): Promise<void>;
};

/** The part of a store that is read; one that cannot place has no workers. */
type MeasuredStore = Pick<Store, "totals"> & { readonly placing?: Pick<Placing, "workers"> | undefined };

/** Give it a meter of its own. Counters never fall, also when runs are deleted. */
export function measureStore(store: MeasuredStore, meter: Meter, known?: KnownModels): StoredMetrics {
  const reader = new TotalsReader(store, meter, new ModelNames(known));
  meter.observe(() => reader.gauges());
  return reader;
}

class TotalsReader implements StoredMetrics {
  readonly #store: MeasuredStore;
  readonly #meter: Meter;
  readonly #names: ModelNames;
  #mark: string | undefined;
  #reading: Promise<void> | undefined;
  /** Numbers by depth: runs that are over; runs that are counted as started; runs at work now. */
  readonly #over: number[] = [];
  readonly #started: number[] = [];
  #active: number[] = [];
  #unended: Readonly<Record<string, number>> = {};
  #workers: readonly WorkerState[] | undefined;

  constructor(store: MeasuredStore, meter: Meter, names: ModelNames) {
    this.#store = store;
    this.#meter = meter;
    this.#names = names;
  }

  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  *gauges(): Iterable<GaugeReading> {
    yield* activeReadings(this.#active);
    for (const [status, value] of Object.entries(this.#unended)) yield { metric: "unended", value, labels: [status] };
    if (this.#workers === undefined) return;
    const alive = this.#workers.filter(({ isAlive }) => isAlive).length;
    yield { metric: "workers", value: alive, labels: ["alive"] };
    yield { metric: "workers", value: this.#workers.length - alive, labels: ["dead"] };
  }

  async #read(): Promise<void> {
    for (;;) {
      const page = await this.#store.totals({ after: this.#mark });
      // Children end before their root, whose model most of them have.
      for (const each of [...page.tallies, ...page.unended])
        if (each.depth === 0 && "model" in each) this.#names.chosen(each);
      for (const tally of page.tallies) this.#count(tally);
      this.#mark = page.mark;
      if (page.isComplete) {
        this.#workers = await this.#store.placing?.workers();
        return this.#countLive(page.unended);
      }
      // The first pages of a large database take seconds: others get their turn in between.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #count(tally: Tally): void {
    if (tally.kind === "refusal") {
      this.#meter.count("errors", 1, [String(tally.depth), tally.errorType]);
      return;
    }
    const { status } = tally;
    const run = { ...tally, model: this.#names.stored(tally) };
    addAt(this.#over, tally.depth, 1);
    // Deleted before it ended: it has no outcome, and what it spent is spent.
    if (status === "interrupted") countSpend(this.#meter, run);
    else countEnd(this.#meter, { ...run, status });
  }

  /** A run is counted as started when it is first seen, at work or over. */
  #countLive(unended: Totals["unended"]): void {
    const byStatus: Record<string, number> = Object.fromEntries(UNENDED_STATUSES.map((status) => [status, 0]));
    for (const { status } of unended) byStatus[status] = (byStatus[status] ?? 0) + 1;
    this.#unended = byStatus;
    const begun = [...this.#over];
    const active = this.#active.map(() => 0);
    for (const { depth, status } of unended) {
      addAt(begun, depth, 1);
      addAt(active, depth, status === "running" ? 1 : 0);
    }
    for (const [depth, count = 0] of begun.entries()) {
      const more = count - (this.#started[depth] ?? 0);
      if (more <= 0) continue;
      this.#meter.count("executions", more, [String(depth)]);
      addAt(this.#started, depth, more);
      addAt(active, depth, 0);
    }
    this.#active = active;
  }
}
