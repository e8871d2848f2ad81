/** What a parent's model reads about a child: one bounded text that never tells an ending as another one. */

import { completionStatus, isSuccess } from "../core/outcome.ts";
import type { RunResult } from "../core/runtime.ts";
import type { ChildReport, SpawnReply } from "../core/spawn.ts";
import type { ToolResult } from "../core/tool.ts";

/** The metadata of a report; names as in the tool's contract. */
export type ReportMetadata = {
  subagent_id: string;
  subagent_label: string;
  recursion_depth: number;
  turns_used: number;
  tool_count: number;
  tokens_consumed: number;
  prompt_tokens: number;
  completion_tokens: number;
  completion_status: string;
  max_turns_reached: boolean;
  truncated: boolean;
  duration_ms: number;
};

export function toToolResult(reply: SpawnReply): ToolResult {
  switch (reply.kind) {
    case "refused":
      return { success: false, output: "", error: reply.message, metadata: { error_type: reply.errorType } };
    case "started": {
      const { agentId, label, path, depth } = reply.child;
      const output = `${label} runs in the background (subagent_id: ${agentId}). Its report will arrive as a message; subagent_wait waits for it.`;
      return {
        success: true,
        output,
        metadata: { subagent_id: agentId, subagent_label: label, recursion_depth: depth, path },
      };
    }
    case "told": {
      const { agentId, label } = reply.child;
      return {
        success: true,
        output: `${label} is at work and reads this before its next turn (subagent_id: ${agentId}).`,
      };
    }
    case "ended": {
      const { report } = reply;
      const metadata = reportMetadata(report);
      const trailer = `(subagent_id: ${report.agentId})`;
      if (isSuccess(report.outcome)) {
        return { success: true, output: `${reportText(report)}\n${trailer}`, metadata, data: report };
      }
      const partial = report.text === "" ? "" : `Partial result:\n${reportText(report)}\n`;
      return { success: false, error: failureSentence(report), output: `${partial}${trailer}`, metadata, data: report };
    }
    default:
      return reply satisfies never;
  }
}

/** The same for a child that was a root of its own: all of its text, and nothing to continue it by. */
export function rootToolResult(result: RunResult, label: string, depth: number): ToolResult {
  const { runId, text, usage, costUsd, error, agents } = result;
  const [own] = agents;
  const report: ChildReport = {
    agentId: runId,
    runId,
    path: own?.path ?? label,
    label,
    depth,
    agentName: own?.label ?? label,
    outcome: { ...result, fault: error, toolCount: own?.toolCount ?? 0 },
    text,
    truncation: undefined,
    toolLog: undefined,
    totalUsage: usage,
    totalCostUsd: costUsd,
  };
  const success = isSuccess(result);
  const sentence = success ? undefined : failureSentence(report);
  return { success, output: reportText(report), error: sentence, metadata: reportMetadata(report) };
}

/** The text of a report, with a notice when it is not the whole story. */
export function reportText({ outcome, text, truncation }: ChildReport): string {
  let notice = "";
  if (outcome.stopReason === "turns") {
    notice = `[Notice: the subagent ran out of turns after ${outcome.turns}; the result is incomplete]\n`;
  } else if (outcome.stopReason === "consent") {
    notice = "[Notice: an action needed consent and nobody was there to give it; the result is incomplete]\n";
  }
  const cut = truncation === undefined ? "" : `\n${cutNotice(truncation)}`;
  return `${notice}${text}${cut}`;
}

function cutNotice({ keptBytes, originalBytes, isFetchable }: NonNullable<ChildReport["truncation"]>): string {
  const rest = isFetchable ? "; subagent_report reads the rest" : "";
  return `[Notice: cut after ${keptBytes} of ${originalBytes} bytes${rest}]`;
}

/** Why a child gave no usable result. */
export function failureSentence({ outcome }: Pick<ChildReport, "outcome">): string {
  const message = outcome.fault?.message ?? "";
  switch (outcome.status) {
    case "completed":
    case "incomplete":
      return "";
    case "timeout":
    case "cancelled":
    case "budget_exceeded":
      return message;
    case "refused":
      return "The subagent's model refused the task";
    case "failed":
      return `Subagent failed: ${message}`;
    default:
      return outcome.status satisfies never;
  }
}

export function reportMetadata(report: ChildReport): ReportMetadata {
  const { outcome, totalUsage } = report;
  return {
    subagent_id: report.agentId,
    subagent_label: report.label,
    recursion_depth: report.depth,
    turns_used: outcome.turns,
    tool_count: outcome.toolCount,
    tokens_consumed: totalUsage.totalTokens,
    prompt_tokens: totalUsage.inputTokens,
    completion_tokens: totalUsage.outputTokens,
    completion_status: completionStatus(outcome.status),
    max_turns_reached: outcome.stopReason === "turns",
    truncated: report.truncation !== undefined,
    duration_ms: Math.round(outcome.durationMs),
  };
}
