/** A tree while it exists: its parts, who is in it, and what was there before a restart. */

import type { RunOutcome } from "../core/outcome.ts";
import type { Run } from "../core/run.ts";
import type { RunResult } from "../core/runtime.ts";
import { RunListeners } from "../events/bus.ts";
import { AgentBook } from "../subagents/agent-book.ts";
import type { TreeParts } from "./parts.ts";
import { EarlierRuns } from "./restore/earlier-runs.ts";
import { ShownTools } from "./shown-tools.ts";

/** A run that has stopped without an end, and how it stood then. */
export type ParkedRun = { readonly run: Run; readonly outcome: RunOutcome };

export type TreeState = {
  readonly parts: TreeParts;
  readonly book: AgentBook;
  /** Calls that needed a person when there was none. */
  readonly denied: RunResult["denied"];
  /** Runs that wait for an answer that comes later, by the run above them. */
  readonly parked: Map<Run | undefined, ParkedRun[]>;
  /** Set when the tree continues after a restart. */
  readonly earlierRuns: EarlierRuns | undefined;
  readonly listeners: RunListeners;
  readonly shownTools: ShownTools;
};

export function newState(parts: TreeParts): TreeState {
  const book = new AgentBook();
  const earlierRuns = parts.recorded && new EarlierRuns(parts.recorded, book, parts);
  const listeners = new RunListeners(parts.asking.journal);
  return { parts, book, denied: [], parked: new Map(), earlierRuns, listeners, shownTools: new ShownTools() };
}
