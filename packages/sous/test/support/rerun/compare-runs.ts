/** Compares two recorded trees as a rerun is compared with its recording. */

import type { StoredEvent } from "../../../src/core/event.ts";
import { Comparison, type RunsComparison } from "../../../src/storage/replay/comparison.ts";
import { foldRecording } from "../../../src/storage/replay/recording.ts";

/** Both are all events of a tree, in order. */
export function compareRuns(recorded: readonly StoredEvent[], found: readonly StoredEvent[]): RunsComparison {
  const nothing = { rootId: "", paths: new Map(), runs: new Map(), toolSets: new Map() };
  const comparison = new Comparison(foldRecording(recorded) ?? { ...nothing, events: recorded }, {});
  for (const event of found) comparison.add(event);
  return comparison.finish();
}
