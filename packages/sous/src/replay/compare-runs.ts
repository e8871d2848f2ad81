/** Compares two trees event by event, path by path: what may differ from run to run is left out, ids are those of the recording. */

import type { StoredEvent } from "../core/event.ts";
import { foldRecording } from "../core/recording.ts";
import { Comparison } from "./comparison.ts";

/** The first step that is not as it was recorded. */
export type StepDifference = {
  path: string;
  /** Where in the run: `turn 2, the result of grep`. */
  step: string;
  /** Which part of the step: `output`; empty when it is another step altogether. */
  at: string;
  /** Whole values, in the ids of the recording; undefined where there is none. */
  expected: unknown;
  found: unknown;
  /** All of it in one sentence, long texts cut around the place where they part. */
  sentence: string;
};

export type ComparisonOptions = {
  /**
   * True when the definitions were rebuilt from the recording: descriptions of tools and schemas are not recorded, so
   * what is estimated from or parsed with them is not compared.
   */
  isRebuilt?: boolean | undefined;
  /** True when tools gave back what was recorded, and did nothing else. */
  isStubbed?: boolean | undefined;
};

export type RunsComparison = { matches: boolean; firstDifference: StepDifference | undefined };

/** Both are all events of a tree, in order. */
export function compareRuns(
  recorded: readonly StoredEvent[],
  found: readonly StoredEvent[],
  options: ComparisonOptions = {},
): RunsComparison {
  const recording = foldRecording(recorded) ?? { rootId: "", events: recorded, paths: new Map(), runs: new Map() };
  const comparison = new Comparison(recording, options);
  for (const event of found) comparison.add(event);
  return comparison.finish();
}
