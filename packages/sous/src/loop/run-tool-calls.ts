/** The tool calls of one answer: run side by side, answered in order. */

import { StoreError } from "../core/errors.ts";
import type { ToolCallPart, ToolResultPart } from "../core/message.ts";
import type { Run } from "../core/run.ts";
import type { EarlierCall } from "../core/run-state.ts";
import { runToolCall } from "./run-tool-call.ts";

/** What became of some of them before a restart, by call id. */
type EarlierCalls = ReadonlyMap<string, EarlierCall>;

const OPEN: EarlierCall = { state: "open" };

/** Adds one message with one result per call. Throws only when the store is lost, after every call has stopped. */
export async function runToolCalls(calls: readonly ToolCallPart[], run: Run, earlier?: EarlierCalls): Promise<void> {
  // One after another is enough: all of them have begun, and none rejects.
  const running = calls.map((call) => runToolCall(call, run, earlier && (earlier.get(call.callId) ?? OPEN)));
  // Of the right length from the start: the message keeps it, and one that grows takes room for seventeen.
  const results = new Array<ToolResultPart>(running.length);
  let fault: StoreError | undefined;
  for (let index = 0; index < running.length; index++) {
    const settling = running[index];
    const result = settling instanceof Promise ? await settling : settling;
    if (result instanceof StoreError) fault = result;
    else if (result !== undefined) results[index] = result;
  }
  if (fault !== undefined) throw fault;
  run.conversation.add({ role: "tool", content: results });
}
