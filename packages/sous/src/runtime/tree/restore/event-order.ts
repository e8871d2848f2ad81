/** The place of an event in a stored run. One that cannot stand there was damaged, and a resume would do again what it says. */

import type { EventOf, StoredEvent } from "../../../core/event.ts";
import type { RunState } from "../../loop/run-state.ts";

/** The fault of a later event of a run that stood like this before it; undefined without one. */
export function misplaced(run: RunState | undefined, event: StoredEvent): string | undefined {
  if (run === undefined) return "comes before the start of its run";
  if (event.type === "run-start") return "starts its run a second time";
  if (run.end !== undefined) return "comes after the end of its run";
  if (event.type === "tool-call-start") {
    const isNew = run.callIds.has(event.callId) && !run.calls.has(event.callId);
    return isNew ? undefined : "begins a call that was not asked for, or begins it twice";
  }
  if (event.type !== "tool-call-end") return undefined;
  const state = run.calls.get(event.callId)?.state;
  return state === undefined || state === "ended" ? "ends a call that is not open" : undefined;
}

/** The fault of the first event of a run; undefined without one. `startOf` finds the start of an earlier run. */
export function misplacedStart(
  { runId, agentId, parentId, path }: EventOf<"run-start">,
  startOf: (runId: string) => EventOf<"run-start"> | undefined,
): string | undefined {
  if (agentId !== runId && startOf(agentId) === undefined) return "is of an agent that is not there";
  if (parentId === null) return undefined;
  const parent = startOf(parentId);
  if (parent === undefined) return "comes before the start of its parent";
  return path.startsWith(`${parent.path}/`) ? undefined : "has a path that is not below its parent";
}
