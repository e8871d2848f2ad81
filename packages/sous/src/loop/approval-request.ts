/** One call of a run as the rules and the person are asked about it. */

import type { ApprovalRequest } from "../core/approval.ts";
import type { ToolCallPart } from "../core/message.ts";
import type { Run } from "../core/run.ts";

/** `input` is what would run: the parsed input, or another one that a tool asks about while it runs. */
export function approvalRequest(
  { callId, toolName }: Pick<ToolCallPart, "callId" | "toolName">,
  input: unknown,
  run: Run,
): ApprovalRequest {
  const { runId, path } = run.who;
  const { agentName: agent } = run.profile;
  return { runId, path, agent, above: agentsAbove(run), callId, toolName, input, cwd: run.tree.cwd };
}

function agentsAbove({ parent }: Run): string[] {
  return parent === undefined ? [] : [...agentsAbove(parent), parent.profile.agentName];
}
