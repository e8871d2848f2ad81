/** The tool calls of one answer. Each is recorded, checked, allowed, run, and recorded with its result. */

import { isRedacted } from "../../core/clean-text.ts";
import { messageOf, StoreError, stackOf, ToolFailure } from "../../core/errors.ts";
import { type ToolCallPart, type ToolResultPart, toolCallsOf } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";
import { Parked } from "../../core/scope.ts";
import type { ToolResult } from "../../core/tool.ts";
import { countsIn, toLogEntry } from "../../core/tool-log.ts";
import { failedQuestion, NOBODY_THERE, notAllowed, STOPPED } from "./ask-approval.ts";
import { type Checked, checkCall } from "./check-call.ts";
import type { EarlierCall } from "./earlier-calls.ts";
import { executeTool } from "./execute-tool.ts";
import { UNKNOWN_OUTCOME } from "./repair-history.ts";
import { ToolCallContext } from "./tool-context.ts";
import { boundFiles, boundResult, failedResult } from "./tool-result.ts";

/** The state of each call that had begun before a restart, by call id. */
export type EarlierCalls = ReadonlyMap<string, EarlierCall>;

/**
 * Runs the calls side by side and adds one message with their results. After all have stopped it throws a `StoreError`, or
 * `Parked` when one of them waits for an answer that comes later.
 */
export async function runToolCalls(calls: readonly ToolCallPart[], run: Run, earlier?: EarlierCalls): Promise<void> {
  const running = calls.map((call) =>
    runToolCall(call, run, earlier && (earlier.get(call.callId) ?? { state: "open" })),
  );
  const settled = await allSettled(running);
  const lost = settled.find((each) => each.status === "rejected" && !(each.reason instanceof Parked));
  if (lost?.status === "rejected") throw lost.reason;
  if (settled.some(({ status }) => status === "rejected")) await run.tree.park(run);
  const content = calls.map((call, index) => {
    const each = settled[index];
    return each?.status === "fulfilled" ? each.value : withdraw(call, run);
  });
  run.conversation.add({ role: "tool", content });
}

/** `Promise.allSettled`, without its list of promises for the one call that most answers make. */
async function allSettled<T>(running: readonly Promise<T>[]): Promise<PromiseSettledResult<T>[]> {
  const [only] = running;
  if (only === undefined || running.length > 1) return await Promise.allSettled(running);
  try {
    return [{ status: "fulfilled", value: await only }];
  } catch (reason) {
    return [{ status: "rejected", reason }];
  }
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
  // The ledger counts the run as at work until this is disposed, unless it waits for children.
  const working = run.holding?.runCall(callId);
  try {
    let checked = earlier && answerEarlier(earlier, call, run);
    if (checked === undefined) {
      // Thrown before the first await: a call of a stopped run ends before the next call begins, and a rerun relies on that.
      run.work.throwIfAborted();
      const isAsked = earlier?.state === "started" || earlier?.state === "asked";
      checked = await checkCall(call, run, isAsked ? earlier.approved : undefined);
    }
    if ("refusal" in checked) result = checked.refusal;
    else {
      run.work.throwIfAborted();
      result = await executeTool(checked, call, context, run);
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
  // The call itself asks, or a child that it waits for does, which its tool cannot know: the call has no result.
  if (run.parkedCalls?.has(callId) === true) throw new Parked();
  // A question from before a restart has no other end, when the call ends without asking again.
  closeQuestions(callId, run, "the run was interrupted");
  // Whole milliseconds: a fraction would be an object of its own in memory, once per call.
  const durationMs = Math.round(run.tree.clock.monotonic() - startedAt);
  return recordResult(call, run, { result, stack, durationMs });
}

/** Closes the questions about the call itself, and about an external agent that it hands a task to: `call_1/0`. */
function closeQuestions(callId: string, run: Run, reason: string): void {
  for (const asked of run.openQuestions ?? []) {
    if (asked !== callId && !asked.startsWith(`${callId}/`)) continue;
    run.openQuestions?.delete(asked);
    run.emit({ type: "approval-end", callId: asked, allowed: false, by: "cancelled", reason });
  }
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
function recordResult(call: ToolCallPart, run: Run, { result: given, stack, durationMs }: Ended): ToolResultPart {
  const { callId, toolName } = call;
  const result = boundFiles(given);
  const { metadata } = result;
  const { output, isError } = boundResult(result, call, run);
  const files = result.documents?.map((file) => run.tree.redactor.file(file));
  run.emit({ type: "tool-call-end", callId, toolName, output, isError, durationMs, stack, metadata, files });
  const part: ToolResultPart = { type: "tool-result", callId, toolName, output, isError };
  if (files !== undefined && files.length > 0) part.files = files;
  if (run.toolLog !== undefined) {
    const displayName = run.profile.tools.byName.get(toolName)?.tool.displayName;
    const isDenied = metadata === NOBODY_THERE;
    run.toolLog.push(toLogEntry(call, part, { durationMs, isDenied, displayName, counts: countsIn(metadata) }));
  }
  return part;
}
