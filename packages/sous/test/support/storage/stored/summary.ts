/** Summarizes the trees of a store, without the time of day: `golden/` has the summary of then, and the tests ask again. */

import type { Store, StoredEvent } from "../../../../src/index.ts";
import { rerun } from "../../../../src/replay.ts";
import type { RunRecord } from "../../../../src/store.ts";

/** A run without dates, and without what follows from its other fields: these trees have one journal each. */
export type RunSummary = Omit<RunRecord, "startedAt" | "endedAt" | "maxTurnsReached" | "journalId">;

/** The runs of one tree, the number of its events by type, and for one that is over how its rerun ends. */
export type TreeSummary = {
  rootId: string;
  events: Record<string, number>;
  rerun?: undefined | { matches: boolean; status: string; text: string };
  runs: RunSummary[];
};

/** Everything that is in a store: the roots as `list` gives them, and the lines of the totals without dates. */
export type StoreSummary = { roots: string[]; tallies: object[]; trees: Record<string, TreeSummary> };

export async function summarizeStore(store: Store): Promise<Omit<StoreSummary, "trees">> {
  const roots = (await store.list({ rootsOnly: true, limit: 100 })).map(({ id }) => id);
  const { tallies } = await store.totals();
  return plain({ roots, tallies: tallies.map(({ startedAt: _, ...tally }) => tally) });
}

export async function summarizeTree(store: Store, rootId: string): Promise<TreeSummary> {
  const runs = await store.tree(rootId);
  const isOver = runs.every(({ depth, endedAt }) => depth > 0 || endedAt !== undefined);
  return plain({
    rootId,
    events: countTypes(await store.read(rootId)),
    ...(isOver && { rerun: await rerunOf(store, rootId) }),
    runs: runs.map(withoutDates),
  });
}

async function rerunOf(store: Store, rootId: string): Promise<TreeSummary["rerun"]> {
  const { matches, result } = await rerun(rootId, { store });
  return { matches, status: result.status, text: result.text };
}

function countTypes(events: readonly StoredEvent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { type } of events) counts[type] = (counts[type] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).sort());
}

function withoutDates(run: RunRecord): RunSummary {
  const { startedAt: _start, endedAt: _end, maxTurnsReached: _outOfTurns, journalId: _journal, ...record } = run;
  return record;
}

/** As it is in a file: without fields that have no value. */
function plain<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
