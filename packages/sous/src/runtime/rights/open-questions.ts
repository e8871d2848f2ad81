/** The questions of a stored tree that have no answer: a fold over its events. */

import { isDeepStrictEqual } from "node:util";
import type { ApprovalRequest, OpenQuestion } from "../core/approval.ts";
import type { EventOf, StoredEvent } from "../core/event.ts";
import { isOutsideModel } from "../core/model.ts";
import { actionLine } from "./action-text.ts";

/** One that was asked, and who asked it. */
export type AskedQuestion = OpenQuestion &
  Pick<ApprovalRequest, "runId" | "callId" | "origin"> & {
    /** Why the tool itself asks; undefined when a rule or its tier has the person asked. */
    readonly toolReason: string | undefined;
  };

/** In the order they were asked first. `events` are all of the tree, in order. */
export function openQuestions(events: Iterable<StoredEvent>): AskedQuestion[] {
  const starts = new Map<string, EventOf<"run-start">>();
  const open = new Map<string, Map<string, { id: string; asked: EventOf<"approval-request"> }>>();
  for (const event of events) {
    const ofRun = open.get(event.runId);
    if (event.type === "run-start") {
      starts.set(event.runId, event);
      // An agent outside asks again by itself.
      if (!isOutsideModel(event.model)) open.set(event.runId, new Map());
    } else if (event.type === "approval-request") {
      const before = ofRun?.get(event.callId);
      // Asked again after a restart: still the same question, unless what it is about has changed.
      const isSame = before !== undefined && isSameQuestion(before.asked, event);
      ofRun?.set(event.callId, { id: isSame ? before.id : String(event.seq), asked: event });
    } else if (event.type === "approval-end") ofRun?.delete(event.callId);
    else if (event.type === "tool-call-end") closeCall(event.callId, ofRun);
    else if (event.type === "run-end") open.delete(event.runId);
  }
  const asked = [...open.values()].flatMap((ofRun) => [...ofRun.values()]);
  return asked
    .sort((one, other) => Number(one.id) - Number(other.id))
    .map(({ id, asked: { runId, path, callId, toolName, input, origin, toolReason } }) => {
      const who = whoAsks(runId, starts);
      const action = actionLine({ runId, path, ...who, callId, toolName, origin, input, reason: toolReason });
      return { id, runId, callId, path, toolName, input, origin, action, toolReason };
    });
}

type Question = EventOf<"approval-request">;

function isSameQuestion(one: Question, other: Question): boolean {
  const isSameTool = one.origin?.definition === other.origin?.definition;
  return isSameTool && one.toolReason === other.toolReason && isDeepStrictEqual(one.input, other.input);
}

/** Without the ids of the runtime. */
export function toOpenQuestion({ id, path, toolName, input, action }: AskedQuestion): OpenQuestion {
  return { id, path, toolName, input, action };
}

/** The call has its result. Agents outside that it handed tasks to were asked about as `call_1/0`. */
function closeCall(callId: string, ofRun: Map<string, unknown> | undefined): void {
  for (const asked of ofRun?.keys() ?? []) if (asked === callId || asked.startsWith(`${callId}/`)) ofRun?.delete(asked);
}

function whoAsks(
  runId: string,
  starts: ReadonlyMap<string, EventOf<"run-start">>,
): Pick<ApprovalRequest, "agent" | "above" | "cwd"> {
  const own = starts.get(runId);
  const above: string[] = [];
  let root = own;
  while (root !== undefined && root.parentId !== null) {
    root = starts.get(root.parentId);
    if (root !== undefined) above.unshift(root.agent);
  }
  return { agent: own?.agent ?? "", above, cwd: root?.cwd ?? "" };
}
