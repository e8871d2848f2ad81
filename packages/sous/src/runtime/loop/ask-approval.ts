/** Approval of one call: the rules decide, or the person at the root is asked. Without a person the answer is no. */

import { type ApprovalAnswer, type ApprovalRequest, type GivenAnswer, HAS_CHANGED } from "../../core/approval.ts";
import { messageOf } from "../../core/errors.ts";
import type { ToolCallPart } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";
import { Parked } from "../../core/scope.ts";
import type { ToolResult } from "../../core/tool.ts";
import { asKept } from "./to-json.ts";
import { failedResult } from "./tool-result.ts";

/** The metadata of a call that no person could approve. Compared by identity, so that no tool can claim it. */
export const NOBODY_THERE: NonNullable<ToolResult["metadata"]> = Object.freeze({ error_type: "consent" });

/** A call without its input. */
export type CallName = Pick<ToolCallPart, "callId" | "toolName">;

/** One call as the rules and the person are asked about it. `input` is what would run: the parsed input, or another one that a tool asks about while it runs. */
export function approvalRequest({ callId, toolName }: CallName, input: unknown, run: Run): ApprovalRequest {
  const { runId, path } = run.who;
  const { agentName: agent } = run.profile;
  const origin = run.profile.tools.byName.get(toolName)?.tool.origin;
  const request = { runId, path, agent, above: agentsAbove(run), callId, toolName, input, cwd: run.tree.cwd };
  return origin === undefined ? request : { ...request, origin };
}

function agentsAbove({ parent }: Run): string[] {
  return parent === undefined ? [] : [...agentsAbove(parent), parent.profile.agentName];
}

/** More is no question that a person can answer. */
const MAX_TIMES = 3;

/**
 * Undefined when the call may run, and all of the tree is stored; else the failed result the model reads. Throws `Parked` when the
 * answer comes later. A call that leads elsewhere once the answer is stored is asked about again, except that of an external agent: it
 * asks again by itself, and is checked from the start.
 */
export async function askApproval(
  request: ApprovalRequest,
  run: Run,
  advice = "Continue without it",
): Promise<ToolResult | undefined> {
  const { toolName, isExternal } = request;
  let asked = request;
  for (let times = 1; times <= (isExternal === true ? 1 : MAX_TIMES); times++) {
    using waiting = run.tree.questions.watch(asked);
    const answer = await askOnce({ ...asked, target: waiting.target }, run, advice);
    if ("refusal" in answer) return answer.refusal;
    const refusal = recordAnswer(answer, request, run);
    if (refusal !== undefined) return refusal;
    await run.tree.settled();
    const isOther = waiting.hasChanged(); // guard: answered-target
    if (!isOther) return undefined;
    asked = askedAgain(request);
  }
  const reason = "what it leads to changed while it was asked about";
  return failedResult(`${toolName} was not allowed: ${reason}. ${advice}.`, { error_type: "consent" });
}

/** The same call, to be looked up once more. A tool that asks by itself has its reason stored: it stays as it is. */
function askedAgain(request: ApprovalRequest): ApprovalRequest {
  const reason = request.isFromTool ? request.reason : HAS_CHANGED;
  return { ...request, target: undefined, reason };
}

const TOO_LONG = "its input is too long for a person to read (over 256 kB). Make smaller calls.";

/** An answer, or the failed result of a question that has none. */
async function askOnce(
  request: ApprovalRequest,
  run: Run,
  advice: string,
): Promise<GivenAnswer | { refusal: ToolResult }> {
  const { callId, toolName, input, origin, target, isFromTool = false } = request;
  // Only for the person: a tool may quote what no model should read.
  const why = isFromTool ? undefined : request.reason;
  const toolReason = isFromTool ? request.reason : undefined;
  const asked = {
    type: "approval-request",
    callId,
    toolName,
    input: asKept(input),
    ...(origin !== undefined && { origin }),
    ...(toolReason !== undefined && { toolReason }),
    ...(target !== undefined && { target }),
  } as const;
  const digest = run.tree.questions.digest({ runId: run.who.runId, ...asked });
  if (digest === undefined) return { refusal: failedResult(`${toolName} needs approval, and ${TOO_LONG}`) };
  run.openQuestions?.delete(callId);
  run.emit(asked);
  const question = run.tree.approve(run, { ...request, digest });
  if (question === undefined) {
    run.lacksApproval = true;
    const reason = "no one can be asked";
    run.emit({ type: "approval-end", callId, allowed: false, by: "nobody", reason });
    const because = why === undefined ? "" : ` (${why})`;
    const refusal = failedResult(`${toolName} needs approval, and ${reason}${because}. ${advice}.`, NOBODY_THERE);
    return { refusal };
  }
  let answer: ApprovalAnswer;
  try {
    answer = await question;
  } catch (error) {
    const by = run.work.aborted ? "cancelled" : "nobody";
    if (by === "nobody") run.lacksApproval = true;
    const reason = by === "cancelled" ? STOPPED : `the question failed: ${messageOf(error)}`;
    run.emit({ type: "approval-end", callId, allowed: false, by, reason });
    const metadata = by === "nobody" ? NOBODY_THERE : { error_type: "cancelled" };
    return { refusal: failedResult(failedQuestion(toolName, reason), metadata) };
  }
  if (answer === "later") {
    run.openQuestions ??= new Set();
    run.openQuestions.add(callId);
    throw new Parked();
  }
  return answer;
}

/** The reason why a question of a run that is stopped has no answer. */
export const STOPPED = "the run was stopped";

export function failedQuestion(toolName: string, reason: string): string {
  return `${toolName} was not allowed: ${reason}`;
}

/** The answer that `resume` was given: stored before anything follows from it, so that it counts once. */
export async function useAnswer(
  answer: GivenAnswer,
  request: ApprovalRequest,
  run: Run,
): Promise<ToolResult | undefined> {
  run.openQuestions?.delete(request.callId);
  const refusal = recordAnswer(answer, request, run);
  await run.tree.settled(); // guard: store-before-answer
  return refusal;
}

function recordAnswer(answer: GivenAnswer, { callId, toolName }: ApprovalRequest, run: Run): ToolResult | undefined {
  const reason = answer.allow ? undefined : answer.reason;
  run.emit({ type: "approval-end", callId, allowed: answer.allow, by: "person", reason });
  if (answer.allow) return undefined;
  return failedResult(notAllowed(toolName, reason), { error_type: "consent" });
}

export function deniedByRule(toolName: string, reason: string): string {
  return `A rule of the user does not allow this call of ${toolName}: ${reason}. Continue without it.`;
}

export function notAllowed(toolName: string, reason: string | undefined): string {
  return `The user did not allow ${toolName}${reason === undefined ? "" : `: ${reason}`}`;
}
