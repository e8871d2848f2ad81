/** One call of a run before a restart: how far it came, and what a person said about it. */

import type { EventOf } from "./event.ts";
import type { ToolResultPart } from "./message.ts";

/** What a person has allowed: exactly this input, of the tool as it was defined then. */
export type Approved = { readonly input: unknown; readonly definition: string | undefined };

/** A call before a restart. `open`, `asked` and `denied` did not run, `started` may have, `ended` has. */
export type EarlierCall =
  | { state: "open" }
  /** `question` is what the person was asked to allow. With `approved`, the tool was called and asked by itself, before it did anything. */
  | { state: "asked"; question: Approved; approved?: Approved }
  | { state: "started"; approved?: Approved }
  | { state: "denied"; reason: string | undefined }
  | { state: "ended"; part: ToolResultPart };

type EarlierCalls = Map<string, EarlierCall>;

/** A call that had begun and asks now has done nothing yet: its tool asks by itself, before anything else. */
export function noteQuestion(calls: EarlierCalls, { callId, input, origin }: EventOf<"approval-request">): void {
  const call = calls.get(callId);
  if (call === undefined) return;
  const approved = call.state === "started" || call.state === "asked" ? call.approved : undefined;
  const question = { input, definition: origin?.definition };
  calls.set(callId, { state: "asked", question, ...(approved !== undefined && { approved }) });
}

export function noteAnswer(calls: EarlierCalls, { callId, allowed, reason }: EventOf<"approval-end">): void {
  const call = calls.get(callId);
  if (call === undefined) return;
  const approved = call.state === "asked" ? { approved: call.question } : {};
  calls.set(callId, allowed ? { state: "started", ...approved } : { state: "denied", reason });
}
