/** The stops of runs, and what comes of them. */

import type { EventOf, StoredEvent } from "../../core/event.ts";
import { OUTCOMES } from "../../core/words/outcomes.ts";
import type { RunRecording } from "./recording.ts";

/** True when something outside its conversation stopped the run: what it waited for then never came. */
export function wasStopped({ end }: Pick<RunRecording, "end">): boolean {
  if (end === undefined) return true;
  const { kind } = OUTCOMES[end.status];
  return kind === "stopped" || kind === "limit";
}

/** True for a stop that was passed on to a placed run: in one process its scope ends with that of its parent. */
export function isPassedOn(event: StoredEvent, start: EventOf<"run-start"> | undefined): boolean {
  if (event.type !== "cancel" || event.mail === undefined || event.callId !== undefined) return false;
  return start?.placed !== undefined && start.parentId !== null;
}

/** The words of the loop for a call whose run was stopped. */
export function isCancelledCall({ output, isError }: EventOf<"tool-call-end">): boolean {
  return isError && output === "The call was cancelled";
}

/** True for the ends that follow when a run is stopped. */
export function comesOfStop(event: StoredEvent): boolean {
  if (event.type === "tool-call-end") return isCancelledCall(event);
  if (event.type === "approval-end") return event.by === "cancelled";
  return event.type === "run-end" || event.type === "truncation";
}
