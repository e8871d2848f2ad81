/** Makes one call that may run. A tool that asks by itself, before it does anything, is called once more when the person agrees. */

import { cleanText } from "../../core/clean-text.ts";
import { ApprovalNeeded, ToolFailure } from "../../core/errors.ts";
import type { ToolCallPart } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";
import type { Tool, ToolContext, ToolResult } from "../../core/tool.ts";
import { approvalRequest, askApproval } from "./ask-approval.ts";
import { type Allowed, isInside } from "./check-call.ts";
import { afterToolCall } from "./run-hooks.ts";
import { toToolResult } from "./tool-result.ts";

/** Throws what the tool throws. */
export async function executeTool(
  allowed: Allowed,
  call: ToolCallPart,
  context: ToolContext,
  run: Run,
): Promise<ToolResult> {
  const { tool, input } = allowed;
  let written = followWrite(call, input, run);
  let given: unknown;
  try {
    given = await waitForTool(tool, tool.execute(input, context), run);
  } catch (error) {
    if (!(error instanceof ApprovalNeeded)) throw error;
    const refusal = await approvalForTool(error, allowed, call, run);
    if (refusal !== undefined) return refusal;
    // The person took their time, and another program may have written meanwhile.
    written = followWrite(call, input, run);
    given = await executeAgain(allowed, context, run);
  }
  written?.();
  const result = toToolResult(given);
  return run.profile.hooks?.afterToolCall ? afterToolCall(call, input, result, run) : result;
}

function followWrite(call: ToolCallPart, input: unknown, run: Run): (() => void) | undefined {
  return run.tree.questions.followWrite(() => approvalRequest(call, input, run));
}

/** The person is asked whatever rules allow; those that deny have denied before. Undefined when they agree. */
async function approvalForTool(
  error: ApprovalNeeded,
  { tool, input, agreedTo }: Allowed,
  call: ToolCallPart,
  run: Run,
): Promise<ToolResult | undefined> {
  run.work.throwIfAborted();
  const reason = shownReason(error.message, run);
  // Answered before a restart, in the same words: what the person has not read they have not agreed to.
  if (agreedTo !== reason) {
    const request = { ...approvalRequest(call, input, run), reason, isFromTool: true } as const;
    const refusal = await askApproval(request, run);
    if (refusal !== undefined) return refusal;
  }
  await error.onAllow();
  if (!isInside(tool)) await run.tree.settled();
  run.work.throwIfAborted();
  return undefined;
}

/** A tool that asks a second time is not called any more: its reason may quote what no model should read. */
async function executeAgain({ tool, input }: Allowed, context: ToolContext, run: Run): Promise<unknown> {
  try {
    return await waitForTool(tool, tool.execute(input, context), run);
  } catch (error) {
    if (!(error instanceof ApprovalNeeded)) throw error;
    throw new ToolFailure(`${tool.name} asked for approval again after it was given. The call was not made.`);
  }
}

/** Makes the reason as it is stored, so that what was agreed to before a restart can be compared. */
function shownReason(reason: string, { tree }: Run): string {
  return tree.redactor.text(cleanText(reason));
}

/** The longest a tool may ignore its signal. */
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
