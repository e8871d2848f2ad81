/** Reads the totals of a store into sums, a page at a time: a million runs take hardly more memory than ten thousand. */

import type { RunRecord, Store } from "../../core/store.ts";
import { Stats } from "./sums.ts";

const PAGE = 2000;

export async function readStats(store: Pick<Store, "totals" | "run">, since: number | undefined): Promise<Stats> {
  const stats = new Stats();
  for (let after: string | undefined; ; ) {
    const { tallies, unended, mark, isComplete } = await store.totals({ after, since, limit: PAGE });
    for (const tally of tallies) stats.add(tally);
    if (isComplete) {
      await addUnended(stats, unended, store);
      return stats;
    }
    after = mark;
  }
}

/** Only roots know their folder, and the root of a run may have started before the time that is asked about. */
async function addUnended(stats: Stats, runs: readonly RunRecord[], store: Pick<Store, "run">): Promise<void> {
  const folders = new Map<string, string | undefined>();
  for (const run of runs) if (run.parentId === null) folders.set(run.rootId, run.cwd);
  for (const run of runs) {
    if (!folders.has(run.rootId)) folders.set(run.rootId, (await store.run(run.rootId))?.cwd);
    stats.addUnended(run, folders.get(run.rootId));
  }
}
