/** One tool call, from the model's words to the result it reads: checked, allowed, recorded, run, recorded. */

import { messageOf, StoreError, ToolFailure } from "../core/errors.ts";
import type { HookCall } from "../core/hooks.ts";
import type { ToolCallPart, ToolResultPart } from "../core/message.ts";
import type { ReadyTool, Run } from "../core/run.ts";
import { Scope } from "../core/scope.ts";
import { depthMessage, isSubagentToolName } from "../core/subagent-names.ts";
import type { ToolResult } from "../core/tool.ts";
import { askConsent } from "./ask-consent.ts";
import { ToolCallContext } from "./tool-context.ts";
import { boundResult, failedResult, toToolResult } from "./tool-result.ts";
import { waitForTool } from "./wait-for-tool.ts";

/** Never throws for what a tool or a model did wrong: that is a failed result the model can read. */
export async function runToolCall(call: ToolCallPart, run: Run): Promise<ToolResultPart> {
  const { callId, toolName } = call;
  run.emit({ type: "tool-call-start", callId, toolName, input: call.input });
  run.toolCount += 1;
  const startedAt = run.tree.clock.monotonic();
  let stack: string | undefined;
  let result: ToolResult;
  try {
    result = await dispatch(call, run);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    if (!(error instanceof ToolFailure)) stack = error instanceof Error ? error.stack : undefined;
    result = failedResult(run.scope.aborted ? "The call was cancelled" : messageOf(error));
  }
  const { output, isError } = boundResult(result, call, run);
  const durationMs = run.tree.clock.monotonic() - startedAt;
  const { metadata, documents: files } = result;
  run.emit({ type: "tool-call-end", callId, toolName, output, isError, durationMs, stack, metadata, files });
  run.toolLog?.push({ toolName, input: call.input, output, success: !isError, durationMs });
  const part: ToolResultPart = { type: "tool-result", callId, toolName, output, isError };
  if (files !== undefined && files.length > 0) part.files = files;
  return part;
}

async function dispatch(call: ToolCallPart, run: Run): Promise<ToolResult> {
  const ready = findTool(call.toolName, run);
  const parsing = ready.schema.parse(call.input);
  const parsed = parsing instanceof Promise ? await parsing : parsing;
  if (!parsed.ok) return failedResult(parsed.problems.join("; "), { error_type: "invalid_input" });

  const { hooks } = run.profile;
  const hookCall = hooks === undefined ? undefined : toHookCall(call, parsed.value, run);
  if (hooks?.beforeToolCall !== undefined && hookCall !== undefined) {
    const decision = await hooks.beforeToolCall(hookCall);
    if (decision !== undefined) return "refuse" in decision ? failedResult(decision.refuse) : decision.result;
  }
  if (ready.tool.tier === "confirm") {
    const refusal = await askConsent(call, parsed.value, run);
    if (refusal !== undefined) return refusal;
  }
  if (ready.tool.effect !== "read") {
    const recording = run.tree.settled();
    if (recording !== undefined) await recording;
  }
  const result = await execute(ready, call, parsed.value, run);
  if (hooks?.afterToolCall === undefined || hookCall === undefined) return result;
  return (await hooks.afterToolCall(hookCall, result)) ?? result;
}

async function execute(ready: ReadyTool, call: ToolCallPart, input: unknown, run: Run): Promise<ToolResult> {
  run.scope.throwIfAborted();
  const scope = new Scope(run.scope);
  try {
    const value = ready.tool.execute(input, new ToolCallContext(run, call.callId, scope));
    if (!isPromiseLike(value)) return toToolResult(value);
    // A subagent tool waits for its children to stop; any other that ignores its signal is left behind after a while.
    if (ready.tool.category === "subagent") return toToolResult(await value);
    return toToolResult(await waitForTool(value, scope, run.tree.clock));
  } finally {
    scope[Symbol.dispose]();
  }
}

/** Enforced here as well as by not showing the tool: a model may call what it was never shown. */
function findTool(name: string, run: Run): ReadyTool {
  const { tools, rights } = run.profile;
  const ready = tools.byName.get(name);
  if (ready !== undefined && (ready.tool.category === "subagent" || rights.use.has(name))) return ready;
  if (tools.isDeepest && isSubagentToolName(name)) {
    const { maxDepth } = run.tree;
    const message = depthMessage(maxDepth, run.who.depth);
    run.emit({ type: "spawn-refused", label: name, errorType: "depth_limit", message });
    throw new ToolFailure(message);
  }
  const usable = tools.definitions.map((each) => each.name).filter((each) => each !== name);
  const hint = usable.length === 0 ? "You have no tools." : `Your tools: ${usable.join(", ")}.`;
  throw new ToolFailure(`${ready === undefined ? "Unknown tool" : "You may not use the tool"}: ${name}. ${hint}`);
}

function toHookCall(call: ToolCallPart, input: unknown, run: Run): HookCall {
  return { callId: call.callId, toolName: call.toolName, input, path: run.who.path, runId: run.who.runId };
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
