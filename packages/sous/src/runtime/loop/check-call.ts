/** Decides if a call may run: rights, input, hooks, rules, and the person. */

import { type ApprovalRequest, HAS_CHANGED } from "../../core/approval.ts";
import { ToolFailure } from "../../core/errors.ts";
import type { ToolCallPart } from "../../core/message.ts";
import { mayUse } from "../../core/rights.ts";
import type { Run } from "../../core/run.ts";
import { askedLabels, depthMessage, isSubagentToolName } from "../../core/spawn.ts";
import type { Tool, ToolResult } from "../../core/tool.ts";
import type { ReadyTool } from "../../core/tool-set.ts";
import { approvalRequest, askApproval, deniedByRule, useAnswer } from "./ask-approval.ts";
import { decideByRules, hasRules } from "./decide-by-rules.ts";
import type { Approved } from "./earlier-calls.ts";
import { beforeToolCall, orAborted } from "./run-hooks.ts";
import { copyJson, isSameJson } from "./to-json.ts";
import { failedResult } from "./tool-result.ts";

/** A call that may run, with its parsed input, or the result that says why not. */
export type Checked = Allowed | { refusal: ToolResult };
/** `agreedTo` is what the tool had asked about by itself before a restart, and the person has allowed since. */
export type Allowed = { tool: Tool; input: unknown; agreedTo?: string | undefined };

/** Rights, input, hook, approval, record: in this order. `approved` is what the person allowed before a restart. */
export async function checkCall(call: ToolCallPart, run: Run, approved?: Approved): Promise<Checked> {
  const { tool, schema } = findTool(call, run);
  // An input that arrives as text did not parse as JSON: no schema takes it, however generous.
  if (typeof call.input === "string") return invalidInput(["The input is not valid JSON. Make the call again."]);
  // A copy of the input, because a tool may change it and the message must stay. Subagent tools only read.
  const given = tool.category === "subagent" ? call.input : copyJson(call.input);
  let parsed = schema.parse(given, run.work);
  if (parsed instanceof Promise) parsed = await orAborted(parsed, run);
  if (!parsed.ok) return invalidInput(parsed.problems);
  const input = parsed.value;
  const hook = run.profile.hooks?.beforeToolCall;
  const refusal = hook && (await beforeToolCall(call, input, run));
  if (refusal !== undefined) return { refusal };
  const mayBeAsked = tool.tier !== "observe" || hasRules(run) || run.openQuestions?.has(call.callId);
  const approval = mayBeAsked
    ? await approvalFor(approvalRequest(call, input, run), { tool, input, approved }, run)
    : undefined;
  if (approval?.refusal !== undefined) return { refusal: approval.refusal };
  // Nothing is waited for between the look at what was asked about and the call.
  if (approval?.isStored !== true && !isInside(tool)) await run.tree.settled(); // guard: store-before-call
  return approval?.agreedTo === undefined ? { tool, input } : { tool, input, agreedTo: approval.agreedTo };
}

/**
 * True when a call may be made that is not ours to make: an external agent makes it by itself, so its input need not be what our
 * tool of that name takes. Throws a `ToolFailure` for a tool that the run may not use.
 */
export async function mayCallExternal(call: ToolCallPart, request: ApprovalRequest, run: Run): Promise<boolean> {
  const { tool } = findTool(call, run);
  const { input } = call;
  const refusal = run.profile.hooks?.beforeToolCall && (await beforeToolCall(call, input, run));
  if (refusal !== undefined) return false;
  const isAllowed = (await approvalFor(request, { tool, input }, run)).refusal === undefined;
  if (isAllowed) await run.tree.settled();
  return isAllowed;
}

/**
 * Without a refusal the call may run. `isStored` after a yes of a person: all of the tree is stored, and the call leads where it did when
 * the person was asked.
 */
type Approval = {
  readonly refusal?: ToolResult | undefined;
  readonly agreedTo?: string | undefined;
  readonly isStored?: true | undefined;
};

/** The rules of the user first, then an answer given since, then the tier of the tool, then the person. */
async function approvalFor(
  request: ApprovalRequest,
  { tool, input, approved }: Allowed & { approved?: Approved | undefined },
  run: Run,
): Promise<Approval> {
  const { toolName } = request;
  const rule = decideByRules(request, run);
  if (rule?.effect === "deny")
    return { refusal: failedResult(deniedByRule(toolName, rule.reason), { error_type: "approval" }) };
  const given = run.tree.givenAnswer(run, request);
  if (given !== undefined) {
    using answered = run.tree.questions.watch(request);
    const refusal = await useAnswer(given.answer, request, run);
    const isOther = refusal === undefined && answered.hasChanged(); // guard: kept-target
    if (!isOther) return { refusal, agreedTo: given.toolReason, isStored: true };
  }
  // A question is answered once: the call that it was about is made again without another.
  const isAnswered = approved !== undefined && run.tree.rules?.asksAgain !== true;
  if (isAnswered) await run.tree.settled();
  const isSameTool = approved?.definition === tool.origin?.definition; // guard: answered-definition
  const leadsThere = run.tree.questions.leadsTo(approved?.target, request); // guard: answered-lead
  if (isAnswered && isSameTool && leadsThere && isSameJson(input, approved.input)) return { isStored: true }; // guard: answered-input
  const mustAsk = rule === undefined ? tool.tier === "confirm" : rule.effect === "ask";
  if (!mustAsk) return {};
  const isByRule = rule?.effect === "ask";
  const hasMoved = given !== undefined || (isAnswered && !leadsThere);
  const asked = { ...request, ...(isByRule && { reason: rule.reason }), ...(hasMoved && { reason: HAS_CHANGED }) };
  return { refusal: await askApproval(asked, run, isByRule ? rule.advice : undefined), isStored: true };
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

/** True for a call without an outside effect. A child that it starts is stored together with the call, before the child acts. */
export function isInside({ effect, category, name }: Tool): boolean {
  if (category !== "subagent" || effect !== "idempotent") return effect === "read";
  // A stop of a child stops what it does outside.
  return name !== "subagent_cancel";
}

function invalidInput(problems: readonly string[]): Checked {
  return { refusal: failedResult(problems.join("; "), { error_type: "invalid_input" }) };
}
