/** Asks the person at the root whether a call may run. Clocks stop meanwhile. */

import type { ApprovalAnswer, ApprovalRequest, Approve } from "../../core/approval.ts";
import { messageOf, Refused } from "../../core/errors.ts";
import { toolCallsOf } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";
import { Scope, untilAborted } from "../../core/scope.ts";
import { FAN_OUT } from "../../core/spawn.ts";
import { DELEGATE_TOOL } from "../../core/words/tools.ts";
import { rest } from "../budget/run-slots.ts";
import { approvalRequest, askApproval, deniedByRule, useAnswer } from "../loop/ask-approval.ts";
import { decideByRules } from "../loop/decide-by-rules.ts";
import type { TreeState } from "./state.ts";

/** Undefined when there is no person to ask. */
export function askAtRoot(tree: TreeState, run: Run, request: ApprovalRequest): Promise<ApprovalAnswer> | undefined {
  const { approve } = tree.parts;
  if (approve !== undefined) return whileResting(run, () => askWithoutClocks(tree, run, request, approve));
  deny(tree, request);
  return undefined;
}

/**
 * The clocks of the run and of the runs above it stop; the deadline of the root does not. The time of all children stops as well,
 * unless another of them is at work.
 */
async function askWithoutClocks(
  tree: TreeState,
  run: Run,
  request: ApprovalRequest,
  approve: Approve,
): Promise<ApprovalAnswer> {
  const { childTime } = tree.parts.spending;
  const waiting: Run[] = [];
  for (let each = run; each.parent !== undefined; each = each.parent) waiting.push(each);
  for (const each of waiting) {
    childTime.pause(each);
    each.deadline?.pause();
  }
  run.waitingFor = `approval of ${request.toolName}`;
  try {
    await run.tree.settled();
    const answer = await askPerson(run, request, approve);
    const obstacle = answer === "later" ? whyNotLater(tree, run) : undefined;
    if (obstacle !== undefined) throw new Error(`the answer comes later, and ${obstacle}`);
    return answer;
  } catch (error) {
    // An approver that throws counts as a denial.
    if (!run.work.aborted) deny(tree, request);
    throw error;
  } finally {
    for (const each of waiting) {
      each.deadline?.resume();
      childTime.resume(each);
    }
  }
}

/** Aborting the run withdraws the question. Throws for an answer that is none of the three. */
async function askPerson(run: Run, request: ApprovalRequest, approve: Approve): Promise<ApprovalAnswer> {
  using question = new Scope(run.work);
  const asked = answerByRules(request, run) ?? approve(request, question.signal);
  const answer: unknown = await untilAborted(Promise.resolve(asked), question);
  if (answer === "later") return answer;
  const { allow, reason } = (answer ?? {}) as { allow?: unknown; reason?: unknown };
  if (allow === true) return { allow };
  if (allow === false) return { allow, reason: reason === undefined ? undefined : messageOf(reason) };
  throw new Error('the answer must be { allow: true }, { allow: false } or "later"');
}

/** An answer that was remembered since the rules were asked answers this question, too. */
function answerByRules(request: ApprovalRequest, run: Run): ApprovalAnswer | undefined {
  const rule = decideByRules(request, run);
  if (rule?.effect === "deny") return { allow: false, reason: rule.reason };
  return rule?.effect === "allow" && request.isFromTool !== true ? { allow: true } : undefined;
}

/**
 * Asks before a task is handed to an external agent, as for a call of `subagent_delegate`, however the child was asked for.
 * Throws `Refused`.
 */
export async function approveExternal(
  parent: Run,
  { callId, index = 0 }: { callId: string; index?: number | undefined },
  input: { serverName: string; description: string; task: string },
): Promise<void> {
  const toolName = DELEGATE_TOOL;
  const request = approvalRequest({ callId: `${callId}/${index}`, toolName }, input, parent);
  const rule = decideByRules(request, parent);
  if (rule?.effect === "deny") throw new Refused("consent", deniedByRule(toolName, rule.reason));
  const answer = parent.tree.givenAnswer(parent, request)?.answer;
  if (answer === undefined && rule?.effect === "allow") return;
  const { reason, advice } = rule?.effect === "ask" ? rule : {};
  const refusal =
    answer === undefined
      ? await askApproval({ ...request, reason }, parent, advice)
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

/** Undefined when it can. */
function whyNotLater(tree: TreeState, asking: Run): string | undefined {
  if (isLost(tree)) return "what happens in this run is no longer stored";
  for (let run: Run | undefined = asking; run !== undefined; run = run.parent) {
    const { path } = run.who;
    if (run.profile.model.external !== undefined) return `${path} is an external agent, which cannot wait that long`;
    if (run.parent !== undefined && !isMadeAgain(run, run.parent))
      return `a restart does not continue ${path}, because the call that started it is not made again`;
  }
  return undefined;
}

/** True when events of the tree are no longer stored. */
export function isLost({ parts }: TreeState): boolean {
  return parts.asking.journal.degraded !== undefined;
}

/** True when `resume` makes the call again that this child was made by, and so finds the child. */
function isMadeAgain({ call }: Run, parent: Run): boolean {
  if (call === undefined) return false;
  if (call.callId === FAN_OUT) return true;
  for (const message of parent.conversation.messages.toReversed()) {
    if (message.role !== "assistant") continue;
    const made = toolCallsOf(message).find(({ callId }) => callId === call.callId);
    const tool = made && parent.profile.tools.byName.get(made.toolName)?.tool;
    if (tool !== undefined) return tool.category === "subagent" || (tool.effect !== "unsafe" && !call.background);
  }
  // The answer with the call was pruned: a child in the background is found by the journal.
  return call.background === true;
}
