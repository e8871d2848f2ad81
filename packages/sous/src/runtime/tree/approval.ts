/** Asks the person at the root whether a call may run. Clocks stop meanwhile. */

import { rest } from "../budget/run-slots.ts";
import type { ApprovalAnswer, ApprovalRequest, Approve } from "../core/approval.ts";
import { Refused } from "../core/errors.ts";
import type { Run } from "../core/run.ts";
import { approvalRequest, askConsent, askPerson, deniedByRule, useAnswer } from "../loop/ask-consent.ts";
import { decideByRules } from "../loop/decide-by-rules.ts";
import type { TreeState } from "./state.ts";
import { whyNotLater } from "./why-not-later.ts";

/** Undefined when there is no person to ask. */
export function askApproval(tree: TreeState, run: Run, request: ApprovalRequest): Promise<ApprovalAnswer> | undefined {
  const { approve } = tree.parts;
  if (approve !== undefined) return whileResting(run, () => askWithoutClocks(tree, run, request, approve));
  deny(tree, request);
  return undefined;
}

/** The time of all children stops as well, unless another of them is at work. */
async function askWithoutClocks(
  tree: TreeState,
  run: Run,
  request: ApprovalRequest,
  approve: Approve,
): Promise<ApprovalAnswer> {
  const { childTime } = tree.parts.spending;
  const waiting: Run[] = [];
  for (let each = run; each.parent !== undefined; each = each.parent) waiting.push(each);
  for (const each of waiting) childTime.pause(each);
  try {
    const answer = await askPerson(run, request, approve);
    const obstacle = answer === "later" ? whyNotLater(tree, run) : undefined;
    if (obstacle !== undefined) throw new Error(`the answer comes later, and ${obstacle}`);
    return answer;
  } catch (error) {
    // An approver that throws counts as a denial.
    if (!run.work.aborted) deny(tree, request);
    throw error;
  } finally {
    for (const each of waiting) childTime.resume(each);
  }
}

/**
 * Before a task is handed to an agent outside: asked like a call of `subagent_delegate`, however the child was asked for.
 * Throws `Refused`.
 */
export async function approveOutside(
  parent: Run,
  { callId, index = 0 }: { callId: string; index?: number | undefined },
  input: { serverName: string; description: string; task: string },
): Promise<void> {
  const toolName = "subagent_delegate";
  const request = approvalRequest({ callId: `${callId}/${index}`, toolName }, input, parent);
  const rule = decideByRules(request, parent);
  if (rule?.effect === "deny") throw new Refused("consent", deniedByRule(toolName, rule.reason));
  const answer = parent.tree.givenAnswer(parent, request)?.answer;
  if (answer === undefined && rule?.effect === "allow") return;
  const { reason, advice } = rule?.effect === "ask" ? rule : {};
  const refusal =
    answer === undefined
      ? await askConsent({ ...request, reason }, parent, advice)
      : await useAnswer(answer, request, parent);
  if (refusal !== undefined) throw new Refused("consent", refusal.error ?? refusal.output);
}

function deny({ denied }: TreeState, { path, toolName, input, isFromTool, reason }: ApprovalRequest): void {
  denied.push({ path, toolName, input, ...(isFromTool === true && { toolReason: reason }) });
}

/** A run that waits for a child or a person holds no slot, so that those it waits for can have one. */
export function whileResting<T>(run: Run, work: () => Promise<T>): Promise<T> {
  return run.slot === undefined ? work() : rest(run.slot, run, work);
}
