/** The tool calls of one answer. Each is recorded, checked, allowed, run, and recorded with its result. */

import { messageOf, StoreError, stackOf, ToolFailure } from "../core/errors.ts";
import type { ToolCallPart, ToolResultPart } from "../core/message.ts";
import { isRedacted } from "../core/redactor.ts";
import { mayUse } from "../core/rights.ts";
import type { ReadyTool, Run } from "../core/run.ts";
import type { EarlierCall } from "../core/run-state.ts";
import { askedLabels, depthMessage, isSubagentToolName } from "../core/spawn.ts";
import type { Tool, ToolResult } from "../core/tool.ts";
import { countsIn } from "../core/tool-log.ts";
import { approvalRequest, askConsent, deniedByRule, NOBODY_THERE, notAllowed } from "./ask-consent.ts";
import { UNKNOWN_OUTCOME } from "./repair-history.ts";
import { afterToolCall, beforeToolCall, orAborted } from "./run-hooks.ts";
import { copyJson } from "./to-json.ts";
import { ToolCallContext } from "./tool-context.ts";
import { boundResult, failedResult, toToolResult } from "./tool-result.ts";

/** By call id: the state of each call that had begun before a restart. */
export type EarlierCalls = ReadonlyMap<string, EarlierCall>;

/** Runs the calls side by side and adds one message with their results. Throws a `StoreError` after all have stopped. */
export async function runToolCalls(calls: readonly ToolCallPart[], run: Run, earlier?: EarlierCalls): Promise<void> {
  const running = calls.map((call) =>
    runToolCall(call, run, earlier && (earlier.get(call.callId) ?? { state: "open" })),
  );
  const settled = await Promise.allSettled(running);
  run.conversation.add({ role: "tool", content: settled.map(resultOf) });
}

function resultOf(settled: PromiseSettledResult<ToolResultPart>): ToolResultPart {
  if (settled.status === "rejected") throw settled.reason;
  return settled.value;
}

/**
 * Rejects only with a `StoreError`: any other failure is a failed result that the model can read. `earlier` is the state of
 * the call before a restart; a call that has ended is not made again.
 */
async function runToolCall(call: ToolCallPart, run: Run, earlier?: EarlierCall): Promise<ToolResultPart> {
  if (earlier?.state === "ended") return earlier.part; // guard: ended-call
  const { callId, toolName, input } = call;
  if (earlier === undefined || earlier.state === "open") {
    run.emit({ type: "tool-call-start", callId, toolName, input });
    run.toolCount += 1;
  }
  const startedAt = run.tree.clock.monotonic();
  let result: ToolResult;
  let stack: string | undefined;
  // Not `using`: the build for Node 22 makes an object of it that would cost 0.9 KB per live child.
  const context = new ToolCallContext(run, call);
  // For the ledger: the run is at work until this is disposed, unless it waits for children.
  const working = run.holding?.runCall(callId);
  try {
    let checked = earlier && answerEarlier(earlier, call, run);
    if (checked === undefined) {
      // Before the first await: a call of a stopped run ends before the next call begins, and a rerun relies on that.
      run.work.throwIfAborted();
      checked = await checkCall(call, run);
    }
    if ("refusal" in checked) result = checked.refusal;
    else {
      run.work.throwIfAborted();
      result = toToolResult(await waitForTool(checked.tool, checked.tool.execute(checked.input, context), run));
      if (run.profile.hooks?.afterToolCall) result = await afterToolCall(call, checked.input, result, run);
    }
  } catch (error) {
    if (error instanceof StoreError) throw error; // guard: result-for-every-call
    stack = error instanceof ToolFailure ? undefined : stackOf(error);
    result = failedResult(run.work.aborted ? "The call was cancelled" : messageOf(error));
  } finally {
    working?.[Symbol.dispose]();
    context[Symbol.dispose]();
  }
  // Asked before a restart, and it ends without another question: that one has no other end.
  if (run.openQuestions?.delete(callId) === true) {
    const reason = "the run was interrupted";
    run.emit({ type: "approval-end", callId, allowed: false, by: "cancelled", reason });
  }
  // Whole milliseconds: a fraction would be an object of its own in memory, once per call.
  const durationMs = Math.round(run.tree.clock.monotonic() - startedAt);
  return recordResult(call, run, { result, stack, durationMs });
}

/** A call that may run, with its parsed input, or the result that says why not. */
type Checked = Allowed | { refusal: ToolResult };
type Allowed = { tool: Tool; input: unknown };

/** Rights, input, hook, approval, record: in this order. */
export async function checkCall(call: ToolCallPart, run: Run): Promise<Checked> {
  const { tool, schema } = findTool(call, run);
  // An input that arrives as text did not parse as JSON: no schema takes it, however generous.
  if (typeof call.input === "string") return invalidInput(["The input is not valid JSON. Make the call again."]);
  const parsed = await orAborted(schema.parse(forTool(call.input, tool), run.work), run);
  if (!parsed.ok) return invalidInput(parsed.problems);
  const input = parsed.value;
  const hook = run.profile.hooks?.beforeToolCall;
  let refusal = hook && (await beforeToolCall(call, input, run));
  if (tool.tier !== "observe" || run.tree.rules !== undefined) refusal ??= await consentTo(call, { tool, input }, run);
  if (refusal !== undefined) return { refusal };
  if (!isInside(tool)) await run.tree.settled(); // guard: store-before-call
  return { tool, input };
}

/**
 * Whether a call may be made that is not ours to make: an agent outside makes it by itself, so its input need not be what our
 * tool of that name takes. Throws a `ToolFailure` for a tool that the run may not use.
 */
export async function mayCallOutside(call: ToolCallPart, run: Run): Promise<boolean> {
  const { tool } = findTool(call, run);
  const { input } = call;
  let refusal = run.profile.hooks?.beforeToolCall && (await beforeToolCall(call, input, run));
  refusal ??= await consentTo(call, { tool, input }, run);
  if (refusal === undefined) await run.tree.settled();
  return refusal === undefined;
}

/** The rules of the user first, then the tier of the tool, then the person. Undefined when the call may run. */
function consentTo(
  call: ToolCallPart,
  { tool, input }: Allowed,
  run: Run,
): Promise<ToolResult | undefined> | ToolResult | undefined {
  const { toolName } = call;
  const request = approvalRequest(call, input, run);
  const rule = run.tree.rules?.decide(request);
  if (rule?.effect === "deny") return failedResult(deniedByRule(toolName, rule.reason), { error_type: "consent" });
  const mustAsk = rule === undefined ? tool.tier === "confirm" : rule.effect === "ask";
  if (!mustAsk) return undefined;
  if (rule?.effect !== "ask") return askConsent(request, run);
  return askConsent({ ...request, reason: rule.reason }, run, rule.advice);
}

/** Enforced here as well as by not showing the tool: a model may call what it was never shown. */
function findTool({ toolName: name, input }: ToolCallPart, run: Run): ReadyTool {
  const { tools } = run.profile;
  const ready = tools.byName.get(name);
  if (ready !== undefined && isUsable(ready, run)) return ready;
  // A fork is shown the tools of its parent, so it may be shown some that are too deep for it.
  const isTooDeep = tools.isDeepest || (ready !== undefined && run.who.depth >= run.tree.maxDepth);
  if (isTooDeep && isSubagentToolName(name)) {
    const message = depthMessage(run.tree.maxDepth, run.who.depth);
    for (const label of askedLabels(name, input))
      run.emit({ type: "spawn-refused", label, errorType: "depth_limit", message });
    throw new ToolFailure(message);
  }
  const usable = [...tools.byName.values()].filter((each) => isUsable(each, run));
  const isShown = tools.definitions.some((each) => each.name === name);
  const hint = usable.length === 0 ? "You have no tools." : `Your tools: ${usable.map(nameOf).join(", ")}.`;
  throw new ToolFailure(`${isShown ? "You may not use the tool" : "Unknown tool"}: ${name}. ${hint}`);
}

function isUsable({ tool }: ReadyTool, { profile, who, tree }: Run): boolean {
  // guard: rights-at-dispatch
  return mayUse(tool, profile.rights) && (tool.category !== "subagent" || who.depth < tree.maxDepth);
}

function nameOf({ tool }: ReadyTool): string {
  return tool.name;
}

/** A copy of the input, because a tool may change it and the message must stay. Subagent tools only read. */
function forTool(input: unknown, { category }: Tool): unknown {
  return category === "subagent" ? input : copyJson(input);
}

/** True for a call without an outside effect. A child that it starts is stored together with the call, before the child acts. */
function isInside({ effect, category, name }: Tool): boolean {
  if (category !== "subagent" || effect !== "idempotent") return effect === "read";
  // To stop a child is to stop what it does outside.
  return name !== "subagent_cancel";
}

function invalidInput(problems: readonly string[]): Checked {
  return { refusal: failedResult(problems.join("; "), { error_type: "invalid_input" }) };
}

/** How long a tool may ignore its signal. */
const GRACE_MS = 1000;

/** Waits for a tool. A tool that is still at work some time after its run was stopped is left behind. */
export function waitForTool({ category }: Tool, work: unknown, { work: scope, tree }: Run): unknown {
  // A subagent tool waits until its children have stopped.
  if (category === "subagent") return work;
  return new Promise((resolve, reject) => {
    let grace: Disposable | undefined;
    const onAbort = (reason: unknown) => {
      grace = tree.clock.timer(GRACE_MS, () => reject(reason));
    };
    const stopWaiting = () => {
      scope.unlisten(onAbort);
      grace?.[Symbol.dispose]();
    };
    scope.listen(onAbort);
    Promise.resolve(work).then(
      (result) => {
        stopWaiting();
        resolve(result);
      },
      (error: unknown) => {
        stopWaiting();
        reject(error);
      },
    );
  });
}

/** A call without a recorded result may have had its effect, so it is made again only if its tool may be repeated. */
function answerEarlier(earlier: EarlierCall, { toolName, input }: ToolCallPart, run: Run): Checked | undefined {
  if (earlier.state === "denied") return { refusal: failedResult(notAllowed(toolName, earlier.reason)) };
  const tool = run.profile.tools.byName.get(toolName)?.tool;
  // The gate knows children by their call, so asking it again starts none twice.
  if (tool === undefined || tool.category === "subagent") return undefined;
  const mayHaveRun = earlier.state === "started";
  const isKept = !isRedacted(input);
  if (isKept && (!mayHaveRun || tool.effect !== "unsafe")) return undefined; // guard: unsafe-call
  if (!mayHaveRun) return { refusal: failedResult(LOST_INPUT) };
  return { refusal: failedResult(UNKNOWN_OUTCOME, { error_type: "unknown_outcome" }) };
}

const LOST_INPUT =
  "This call was not made: the run was interrupted before it, and a secret in its input was not kept. Continue without it.";

type Ended = { result: ToolResult; stack: string | undefined; durationMs: number };

/** Records the end of a call and makes the part that the model reads. */
function recordResult(call: ToolCallPart, run: Run, { result, stack, durationMs }: Ended): ToolResultPart {
  const { callId, toolName } = call;
  const { metadata } = result;
  const { output, isError } = boundResult(result, call, run);
  const files = result.documents?.map((file) => run.tree.redactor.file(file));
  run.emit({ type: "tool-call-end", callId, toolName, output, isError, durationMs, stack, metadata, files });
  const part: ToolResultPart = { type: "tool-result", callId, toolName, output, isError };
  if (files !== undefined && files.length > 0) part.files = files;
  if (run.toolLog !== undefined) {
    const displayName = run.profile.tools.byName.get(toolName)?.tool.displayName;
    const isDenied = metadata === NOBODY_THERE;
    run.toolLog.add(call, part, { durationMs, isDenied, displayName, counts: countsIn(metadata) });
  }
  return part;
}
