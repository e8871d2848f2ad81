/** The calls of an answer before a restart: how far each came, and what a person said about it. */

import type { CallTarget } from "../../core/approval.ts";
import type { EventOf } from "../../core/event.ts";
import type { ToolResultPart } from "../../core/message.ts";

/** The call that a person has allowed: exactly this input, of the tool as it was defined then, where it led then. */
export type Approved = { input: unknown; definition: string | undefined; target: CallTarget | undefined };

/** A call before a restart. `open`, `asked` and `denied` did not run, `started` may have, `ended` has. */
export type EarlierCall =
  | { state: "open" }
  /** `question` is what the person was asked to allow. With `approved`, the tool was called and asked by itself, before it did anything. */
  | { state: "asked"; question: Approved; approved?: Approved }
  | { state: "started"; approved?: Approved }
  | { state: "denied"; reason: string | undefined }
  | { state: "ended"; part: ToolResultPart };

export type CallStates = Map<string, EarlierCall>;

/** A call that had begun and asks now has done nothing yet: its tool asks by itself, before anything else. */
export function noteQuestion(calls: CallStates, { callId, input, origin, target }: EventOf<"approval-request">): void {
  const call = calls.get(callId);
  if (call === undefined) return;
  const approved = call.state === "started" || call.state === "asked" ? call.approved : undefined;
  const question = { input, definition: origin?.definition, target };
  calls.set(callId, { state: "asked", question, ...(approved !== undefined && { approved }) });
}

export function noteAnswer(calls: CallStates, { callId, allowed, reason }: EventOf<"approval-end">): void {
  const call = calls.get(callId);
  if (call === undefined) return;
  const approved = call.state === "asked" ? { approved: call.question } : {};
  calls.set(callId, allowed ? { state: "started", ...approved } : { state: "denied", reason });
}
