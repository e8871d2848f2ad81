/** The start of a run with a journal of its own: what it must say, and which run of the store it is below. */

import { StoreError } from "../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";

type Start = EventOf<"run-start">;

/** The root of the tree, where a journal that begins with this event is not the root's own. */
export function rootElsewhere(journalId: string, first: StoredEvent): string | undefined {
  const rootId = first.type === "run-start" ? first.placed?.rootId : undefined;
  return rootId === journalId ? undefined : rootId;
}

/** Throws a `StoreError` unless a journal can begin with it. */
export function checkPlaced(start: Start): void {
  const { seq, runId, parentId, placed } = start;
  const isRoot = placed?.rootId === runId;
  if (placed === undefined || seq !== 1 || (isRoot && parentId !== null))
    throw new StoreError(`Run ${runId} cannot be placed: its start is not that of a placed run`);
}

/** The run that must be in the store before a journal below it can begin; undefined for the journal of a root. */
export function runAbove(start: Start): string | undefined {
  return rootElsewhere(start.runId, start) === undefined ? undefined : (start.parentId ?? start.placed?.rootId);
}

/** `treeOfAbove` is the tree of the run above it, undefined when that is not in the store. Throws when it is another one. */
export function checkAbove(start: Start, treeOfAbove: string | undefined): void {
  const { runId, placed } = start;
  if (treeOfAbove !== placed?.rootId)
    throw new StoreError(`The run above ${runId} is not in the tree ${placed?.rootId}: it cannot begin there`);
}
