/** One call of a run before a restart: how far it came, and what a person said about it. */

import type { EventOf } from "./event.ts";
import type { ToolResultPart } from "./message.ts";

/** What a person has allowed: exactly this input. */
type Approved = { readonly input: unknown };

/** A call before a restart. `open`, `asked` and `denied` did not run, `started` may have, `ended` has. */
export type EarlierCall =
  | { state: "open" }
  /** `approved`: as for `started`. It was then called, and asked by itself before it did anything. */
  | { state: "asked"; input: unknown; approved?: Approved }
  /** `approved`: exactly this input was allowed by the person. */
  | { state: "started"; approved?: Approved }
  | { state: "denied"; reason: string | undefined }
  | { state: "ended"; part: ToolResultPart };

type EarlierCalls = Map<string, EarlierCall>;

/** A call that had begun and asks now has done nothing yet: its tool asks by itself, before anything else. */
export function noteQuestion(calls: EarlierCalls, { callId, input }: EventOf<"approval-request">): void {
  const call = calls.get(callId);
  if (call === undefined) return;
  const approved = call.state === "started" || call.state === "asked" ? call.approved : undefined;
  calls.set(callId, { state: "asked", input, ...(approved !== undefined && { approved }) });
}

export function noteAnswer(calls: EarlierCalls, { callId, allowed, reason }: EventOf<"approval-end">): void {
  const call = calls.get(callId);
  if (call === undefined) return;
  const approved = call.state === "asked" ? { approved: { input: call.input } } : {};
  calls.set(callId, allowed ? { state: "started", ...approved } : { state: "denied", reason });
}
