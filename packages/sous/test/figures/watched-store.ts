/** A store with faults that is watched from both sides: what it was told to keep, and what it has kept. */

import type { StoredEvent } from "../../src/core/event.ts";
import type { Store } from "../../src/core/store.ts";
import { openMemoryStore } from "../../src/storage/store/memory.ts";
import type { Faults } from "../support/testing/faults.ts";

/** The journal gives up after the first attempt and three more. */
const ATTEMPTS = 4;

export type WatchedStore = {
  readonly store: Store;
  kept(rootId: string): Promise<readonly StoredEvent[]>;
  /** The greatest number that is kept. */
  readonly lastKept: number;
  /** True when so many appends failed in a row that the journal may give up. */
  readonly mayGiveUp: boolean;
};

export function watchedStore(faults: Faults, inner: Store = openMemoryStore()): WatchedStore {
  const faulty = faults.store(inner);
  let failuresInRow = 0;
  let mayGiveUp = false;
  let lastKept = 0;
  return {
    store: {
      ...faulty,
      async append(rootId, events, fence) {
        try {
          await faulty.append(rootId, events, fence);
          failuresInRow = 0;
          lastKept = events.at(-1)?.seq ?? lastKept;
        } catch (error) {
          failuresInRow += 1;
          if (failuresInRow >= ATTEMPTS) mayGiveUp = true;
          throw error;
        }
      },
    },
    kept: (rootId) => inner.read(rootId),
    get lastKept() {
      return lastKept;
    },
    get mayGiveUp() {
      return mayGiveUp;
    },
  };
}

/** Everything shown must be kept, once and in the same order, up to the point where the store has failed for good. */
export function compareHistories(
  shown: readonly StoredEvent[],
  kept: readonly StoredEvent[],
  { mayGiveUp }: Pick<WatchedStore, "mayGiveUp">,
): string[] {
  const problems: string[] = [];
  for (const [index, event] of kept.entries()) {
    const seen = shown[index];
    if (seen?.seq !== event.seq || seen.type !== event.type) {
      problems.push(`Kept ${event.seq} ${event.type} where ${seen?.seq} ${seen?.type} was shown`);
      break;
    }
  }
  if (kept.length < shown.length && !mayGiveUp) {
    problems.push(`Lost: ${shown.length - kept.length} events were shown and are not kept`);
  }
  return problems;
}
