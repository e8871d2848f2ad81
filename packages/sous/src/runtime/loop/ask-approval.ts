/** Approval of one call: the rules decide, or the person at the root is asked. Without a person the answer is no. */

import type { ApprovalAnswer, ApprovalRequest, GivenAnswer } from "../../core/approval.ts";
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

/** Undefined when the call may run, else the failed result the model reads. Throws `Parked` when the answer comes later. */
export async function askApproval(
  request: ApprovalRequest,
  run: Run,
  advice = "Continue without it",
): Promise<ToolResult | undefined> {
  const { callId, toolName, input, origin, isFromTool = false } = request;
  // Only for the person: a tool may quote what no model should read.
  const why = isFromTool ? undefined : request.reason;
  const toolReason = isFromTool ? request.reason : undefined;
  run.openQuestions?.delete(callId);
  const asked = { callId, toolName, input: asKept(input) };
  run.emit({
    type: "approval-request",
    ...asked,
    ...(origin !== undefined && { origin }),
    ...(toolReason !== undefined && { toolReason }),
  });
  const question = run.tree.approve(run, request);
  if (question === undefined) {
    run.lacksApproval = true;
    const reason = "no one can be asked";
    run.emit({ type: "approval-end", callId, allowed: false, by: "nobody", reason });
    const because = why === undefined ? "" : ` (${why})`;
    return failedResult(`${toolName} needs approval, and ${reason}${because}. ${advice}.`, NOBODY_THERE);
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
    return failedResult(failedQuestion(toolName, reason), metadata);
  }
  if (answer === "later") {
    run.openQuestions ??= new Set();
    run.openQuestions.add(callId);
    throw new Parked();
  }
  return recordAnswer(answer, request, run);
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
