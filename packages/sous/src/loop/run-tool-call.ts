/** The tool calls of one answer. Each is recorded, checked, allowed, run, and recorded with its result. */

import { messageOf, StoreError, stackOf, ToolFailure } from "../core/errors.ts";
import { type ToolCallPart, type ToolResultPart, toolCallsOf } from "../core/message.ts";
import { isRedacted } from "../core/redactor.ts";
import { mayUse } from "../core/rights.ts";
import type { Run } from "../core/run.ts";
import type { EarlierCall } from "../core/run-state.ts";
import { askedLabels, depthMessage, isSubagentToolName } from "../core/spawn.ts";
import { Parked } from "../core/stopped.ts";
import type { Tool, ToolResult } from "../core/tool.ts";
import { countsIn } from "../core/tool-log.ts";
import type { ReadyTool } from "../core/tool-set.ts";
import {
  approvalRequest,
  askConsent,
  deniedByRule,
  failedQuestion,
  NOBODY_THERE,
  notAllowed,
  STOPPED,
  useAnswer,
} from "./ask-consent.ts";
import { decideByRules, hasRules } from "./decide-by-rules.ts";
import { UNKNOWN_OUTCOME } from "./repair-history.ts";
import { afterToolCall, beforeToolCall, orAborted } from "./run-hooks.ts";
import { copyJson, isSameJson } from "./to-json.ts";
import { ToolCallContext } from "./tool-context.ts";
import { boundResult, failedResult, toToolResult } from "./tool-result.ts";

/** By call id: the state of each call that had begun before a restart. */
export type EarlierCalls = ReadonlyMap<string, EarlierCall>;

/**
 * Runs the calls side by side and adds one message with their results. After all have stopped it throws a `StoreError`, or
 * `Parked` when one of them waits for an answer that comes later.
 */
export async function runToolCalls(calls: readonly ToolCallPart[], run: Run, earlier?: EarlierCalls): Promise<void> {
  const running = calls.map((call) =>
    runToolCall(call, run, earlier && (earlier.get(call.callId) ?? { state: "open" })),
  );
  const settled = await Promise.allSettled(running);
  const lost = settled.find((each) => each.status === "rejected" && !(each.reason instanceof Parked));
  if (lost?.status === "rejected") throw lost.reason;
  if (settled.some(({ status }) => status === "rejected")) await run.tree.park(run);
  const content = calls.map((call, index) => {
    const each = settled[index];
    return each?.status === "fulfilled" ? each.value : withdraw(call, run);
  });
  run.conversation.add({ role: "tool", content });
}

/** Ends the parked calls of a run that is not going to be resumed. */
export function withdrawCalls(run: Run): void {
  const last = run.conversation.messages.at(-1);
  if (last?.role !== "assistant" || run.parkedCalls === undefined) return;
  for (const call of toolCallsOf(last)) if (run.parkedCalls.has(call.callId)) withdraw(call, run);
}

/** Ends a call that waited for an answer: no answer can come any more. One of a run that is stopped ends as if it were at work. */
function withdraw(call: ToolCallPart, run: Run): ToolResultPart {
  const { callId, toolName } = call;
  const isStopped = run.isParked || run.work.aborted;
  const isAsked = run.openQuestions?.has(callId) === true;
  run.parkedCalls?.delete(callId);
  closeQuestions(callId, run, isStopped ? STOPPED : WITHDRAWN);
  let result = failedResult(isStopped ? "The call was cancelled" : WITHDRAWN);
  if (isStopped && isAsked) result = failedResult(failedQuestion(toolName, STOPPED), { error_type: "cancelled" });
  return recordResult(call, run, { result, stack: undefined, durationMs: 0 });
}

const WITHDRAWN = "The call was not finished: it waited for an answer of the user, and none can come any more";

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
      checked = await checkCall(call, run, earlier?.state === "started" ? earlier.approved : undefined);
    }
    if ("refusal" in checked) result = checked.refusal;
    else {
      run.work.throwIfAborted();
      result = toToolResult(await waitForTool(checked.tool, checked.tool.execute(checked.input, context), run));
      if (run.profile.hooks?.afterToolCall) result = await afterToolCall(call, checked.input, result, run);
    }
  } catch (error) {
    if (error instanceof StoreError) throw error; // guard: result-for-every-call
    if (error instanceof Parked) run.parkCall(callId);
    stack = error instanceof ToolFailure ? undefined : stackOf(error);
    result = failedResult(run.work.aborted ? "The call was cancelled" : messageOf(error));
  } finally {
    working?.[Symbol.dispose]();
    context[Symbol.dispose]();
  }
  // Its own question, or one of a child that it waits for, which its tool cannot know: the call has no result.
  if (run.parkedCalls?.has(callId) === true) throw new Parked();
  // Asked before a restart, and it ends without another question: that one has no other end.
  closeQuestions(callId, run, "the run was interrupted");
  // Whole milliseconds: a fraction would be an object of its own in memory, once per call.
  const durationMs = Math.round(run.tree.clock.monotonic() - startedAt);
  return recordResult(call, run, { result, stack, durationMs });
}

/** Those about the call itself, and those about an agent outside that it hands a task to: `call_1/0`. */
function closeQuestions(callId: string, run: Run, reason: string): void {
  for (const asked of run.openQuestions ?? []) {
    if (asked !== callId && !asked.startsWith(`${callId}/`)) continue;
    run.openQuestions?.delete(asked);
    run.emit({ type: "approval-end", callId: asked, allowed: false, by: "cancelled", reason });
  }
}

/** A call that may run, with its parsed input, or the result that says why not. */
type Checked = Allowed | { refusal: ToolResult };
type Allowed = { tool: Tool; input: unknown };

/** Rights, input, hook, approval, record: in this order. `approved` is what the person allowed before a restart. */
export async function checkCall(
  call: ToolCallPart,
  run: Run,
  approved?: { readonly input: unknown },
): Promise<Checked> {
  const { tool, schema } = findTool(call, run);
  // An input that arrives as text did not parse as JSON: no schema takes it, however generous.
  if (typeof call.input === "string") return invalidInput(["The input is not valid JSON. Make the call again."]);
  const parsed = await orAborted(schema.parse(forTool(call.input, tool), run.work), run);
  if (!parsed.ok) return invalidInput(parsed.problems);
  const input = parsed.value;
  const hook = run.profile.hooks?.beforeToolCall;
  let refusal = hook && (await beforeToolCall(call, input, run));
  const mayBeAsked = tool.tier !== "observe" || hasRules(run) || run.openQuestions?.has(call.callId);
  if (mayBeAsked) refusal ??= await consentTo(call, { tool, input, approved }, run);
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

/** The rules of the user first, then an answer given since, then the tier of the tool, then the person. Undefined when the call may run. */
function consentTo(
  call: ToolCallPart,
  { tool, input, approved }: Allowed & { approved?: { readonly input: unknown } | undefined },
  run: Run,
): Promise<ToolResult | undefined> | ToolResult | undefined {
  const { toolName } = call;
  const request = approvalRequest(call, input, run);
  const rule = decideByRules(request, run);
  if (rule?.effect === "deny") return failedResult(deniedByRule(toolName, rule.reason), { error_type: "consent" });
  const answer = run.tree.givenAnswer(run, request);
  if (answer !== undefined) return useAnswer(answer, request, run);
  // A question is answered once: the call that it was about is made again without another.
  const isAnswered = approved !== undefined && run.tree.rules?.asksAgain !== true;
  if (isAnswered && isSameJson(input, approved.input)) return undefined; // guard: answered-input
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
  const shown = new Set(tools.definitions.map((each) => each.name));
  const usable = [...tools.byName.values()].filter((each) => shown.has(nameOf(each)) && isUsable(each, run));
  const isShown = shown.has(name);
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
