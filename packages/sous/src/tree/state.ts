/** A tree while it exists: its parts, who is in it, and what was there before a restart. */

import { RunListeners } from "../events/bus.ts";
import { AgentBook } from "../subagents/agent-book.ts";
import type { TreeParts } from "./parts.ts";
import { EarlierRuns } from "./restore/earlier-runs.ts";
import { ShownTools } from "./shown-tools.ts";

export type TreeState = {
  readonly parts: TreeParts;
  readonly book: AgentBook;
  /** Calls that needed a person when there was none. */
  readonly denied: { path: string; toolName: string; input: unknown }[];
  /** Set when the tree continues after a restart. */
  readonly earlierRuns: EarlierRuns | undefined;
  readonly listeners: RunListeners;
  readonly shownTools: ShownTools;
};

export function newState(parts: TreeParts): TreeState {
  const book = new AgentBook();
  const earlierRuns = parts.recorded && new EarlierRuns(parts.recorded, book, parts);
  const listeners = new RunListeners(parts.asking.journal);
  return { parts, book, denied: [], earlierRuns, listeners, shownTools: new ShownTools() };
}
