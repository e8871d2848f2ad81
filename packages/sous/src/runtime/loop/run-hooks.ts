/** The two points where a user's code may step in: before a tool call and after it. What it gives back is checked here. */

import type { HookCall } from "../../core/approval.ts";
import type { ToolCallPart } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";
import { untilAborted } from "../../core/scope.ts";
import type { ToolResult } from "../../core/tool.ts";
import { checkedResult, failedResult, isToolResult } from "./tool-result.ts";

/** Undefined when the call may run, else the result in its place. A decision that is none lets nothing through. */
export async function beforeToolCall(call: ToolCallPart, input: unknown, run: Run): Promise<ToolResult | undefined> {
  const decision: unknown = await orAborted(run.profile.hooks?.beforeToolCall?.(toHookCall(call, input, run)), run);
  if (decision === undefined || decision === null) return undefined;
  const { refuse, result } = decision as { refuse?: unknown; result?: unknown };
  if (typeof refuse === "string") return failedResult(refuse);
  if (isToolResult(result)) return checkedResult(result);
  throw new Error(
    "The hook beforeToolCall must return nothing, { refuse } with a text, or { result } with a tool result",
  );
}

/** The result, or what the hook puts in its place. */
export async function afterToolCall(
  call: ToolCallPart,
  input: unknown,
  result: ToolResult,
  run: Run,
): Promise<ToolResult> {
  const replaced: unknown = await orAborted(
    run.profile.hooks?.afterToolCall?.(toHookCall(call, input, run), result),
    run,
  );
  if (replaced === undefined || replaced === null) return result;
  if (isToolResult(replaced)) return checkedResult(replaced);
  throw new Error("The hook afterToolCall must return nothing or a tool result: { success, output }");
}

/** A stopped run waits neither for a hook nor for a schema. */
export function orAborted<T>(work: T | Promise<T>, run: Run): T | Promise<T> {
  return work instanceof Promise ? untilAborted(work, run.work) : work;
}

/** Makes a copy of the input: a hook may refuse a call, but not change what runs. */
function toHookCall({ callId, toolName }: ToolCallPart, input: unknown, { who }: Run): HookCall {
  return { callId, toolName, input: copyOf(input), path: who.path, runId: who.runId };
}

/** A value that cannot be copied is given as it is: a schema may make a function. */
function copyOf(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return value;
  }
}

/** A listener never changes a run, and an async one that fails does not end the process. */
export async function tellHook(run: Run, message: string): Promise<void> {
  try {
    await run.profile.hooks?.onError?.({ message, path: run.who.path, runId: run.who.runId });
  } catch {
    // A hook that reports errors has no hook for its own.
  }
}
