/** The tool calls of one answer: run side by side, answered in order. */

import type { ToolCallPart, ToolResultPart } from "../core/message.ts";
import type { Run } from "../core/run.ts";
import { runToolCall } from "./run-tool-call.ts";

/** Adds one message with one result per call. Throws only for faults of the runtime, after every call has stopped. */
export async function runToolCalls(calls: readonly ToolCallPart[], run: Run): Promise<void> {
  const [only] = calls;
  if (only !== undefined && calls.length === 1) {
    run.conversation.add({ role: "tool", content: [await runToolCall(only, run)] });
    return;
  }
  const results: ToolResultPart[] = [];
  let fault: { error: unknown } | undefined;
  for (const settled of await Promise.allSettled(calls.map((call) => runToolCall(call, run)))) {
    if (settled.status === "fulfilled") results.push(settled.value);
    else fault ??= { error: settled.reason };
  }
  if (fault !== undefined) throw fault.error;
  run.conversation.add({ role: "tool", content: results });
}
