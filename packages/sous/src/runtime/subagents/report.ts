/** The report about a child for its parent's model: one bounded text that always says how the child ended. */

import { dataMark, unmarked } from "../../core/data-mark.ts";
import type { ErrorType } from "../../core/errors.ts";
import { completionStatus, isSuccess } from "../../core/outcome.ts";
import type { ChildInfo, ChildReport, SpawnReply } from "../../core/spawn.ts";
import type { ToolResult } from "../../core/tool.ts";
import { MAX_RESULT_BYTES, truncateUtf8 } from "../../core/truncate.ts";
import { utf8Length } from "../../core/usage.ts";
import { isOutOfTurns, OUTCOMES, stopReasonOf } from "../../core/words/outcomes.ts";

/** Max bytes of one report in a result; leaves room for the sentences around it, so that no cut goes without a notice. */
const MAX_REPORT_BYTES = MAX_RESULT_BYTES - 8192;

/** The metadata of a report; names as in the tool's contract. */
export type ReportMetadata = {
  subagent_id: string;
  subagent_label: string;
  recursion_depth: number;
  turns_used: number;
  tool_count: number;
  /** The tokens of the run itself, as in logs, metrics and the store. */
  tokens_consumed: number;
  /** The tokens of the run and of everything below it. */
  tree_tokens: number;
  prompt_tokens: number;
  completion_tokens: number;
  completion_status: string;
  max_turns_reached: boolean;
  truncated: boolean;
  duration_ms: number;
};

/** The metadata of a child that has not reported yet: it runs in the background, or it was at work when a message reached it. */
export type StartedMetadata = Pick<ReportMetadata, "subagent_id" | "subagent_label" | "recursion_depth"> & {
  path: string;
};

/** The metadata of a call that made no child. */
export type RefusalMetadata = { error_type: ErrorType };

export function toToolResult(reply: SpawnReply): ToolResult {
  switch (reply.kind) {
    case "refused": {
      const metadata: RefusalMetadata = { error_type: reply.errorType };
      return { success: false, output: "", error: reply.message, metadata };
    }
    case "started": {
      const { agentId, label } = reply.child;
      const output = `${label} runs in the background (subagent_id: ${agentId}). Its report will arrive as a message; subagent_wait waits for it.`;
      return { success: true, output, metadata: startedMetadata(reply.child) };
    }
    case "told": {
      const { agentId, label } = reply.child;
      const output = `${label} is at work and reads this before its next turn (subagent_id: ${agentId}).`;
      return { success: true, output, metadata: startedMetadata(reply.child) };
    }
    case "ended": {
      const report = shortened(reply.report, MAX_REPORT_BYTES);
      const metadata = reportMetadata(report);
      const trailer = `(subagent_id: ${report.agentId})`;
      if (isSuccess(report.outcome)) {
        return { success: true, output: `${reportForModel(report)}\n${trailer}`, metadata, data: reply.report };
      }
      const partial = report.text === "" ? "" : `Partial result:\n${reportForModel(report)}\n`;
      return {
        success: false,
        error: failureForModel(report),
        output: `${partial}${trailer}`,
        metadata,
        data: reply.report,
      };
    }
    case "parked":
      // The model does not read this: the call has no result before the answer has come.
      return { success: true, output: "The subagent waits for an answer of the user." };
    default:
      return reply satisfies never;
  }
}

/** Cuts a report at `maxBytes`; its notice names the offset to read from. */
export function shortened(report: ChildReport, maxBytes: number): ChildReport {
  const { text, truncated, keptBytes, originalBytes: bytes } = truncateUtf8(report.text, maxBytes);
  if (!truncated) return report;
  const originalBytes = report.truncation?.originalBytes ?? bytes;
  return { ...report, text, truncation: { keptBytes, originalBytes } };
}

/** The text of several reports. If it is too long, each is cut to an equal share, with a notice. */
export function reportsTogether(count: number, inWords: (maxBytes: number) => string): string {
  let text = inWords(MAX_REPORT_BYTES);
  if (utf8Length(text) <= MAX_RESULT_BYTES) return text;
  text = inWords(0);
  let share = Math.floor((MAX_RESULT_BYTES - utf8Length(text)) / count);
  // JSON escapes make text longer, so the first try may be too long.
  for (; share > 0; share = Math.floor(share * 0.8)) {
    text = inWords(share);
    if (utf8Length(text) <= MAX_RESULT_BYTES) return text;
  }
  return text;
}

/** Several reports as one text, each behind the label of its child. */
export function labelledReports(reports: readonly ChildReport[]): string {
  const inWords = (report: ChildReport) => {
    const { success, output, error } = toToolResult({ kind: "ended", report });
    const whose = report.external === undefined ? "" : ` (an external agent, whose words end with their mark)`;
    return `${report.label}${whose}: ${success ? output : `${error}\n${output}`}`;
  };
  return reportsTogether(reports.length, (maxBytes) =>
    reports.map((report) => inWords(shortened(report, maxBytes))).join("\n\n"),
  );
}

/** The text of a report, with a notice when it is incomplete or cut. */
export function reportText(report: ChildReport): string {
  const { ending, cut } = noticesOf(report);
  return lines(ending, report.text, cut);
}

/** The same for the model of its parent: the words of an external agent end with a mark, and below it stands what is ours. */
export function reportForModel(report: ChildReport): string {
  const { external, text } = report;
  if (external === undefined) return reportText(report);
  const { ending, cut } = noticesOf(report);
  return lines(wordsOf(external, text), ending, cut);
}

/** Marks what an external agent said as its words. */
export function wordsOf(external: string, text: string): string {
  return lines(text === "" ? undefined : unmarked(text), dataMark("external agent", external));
}

function noticesOf({ outcome, truncation, isFetchable }: ChildReport) {
  const reason = stopReasonOf(outcome);
  const ending = reason && `[Notice: ${reason.notice(outcome.turns)}]`;
  if (truncation === undefined) return { ending, cut: undefined };
  const { keptBytes, originalBytes } = truncation;
  const rest = isFetchable ? `; subagent_report reads the rest from offset ${keptBytes}` : "";
  return { ending, cut: `[Notice: cut after ${keptBytes} of ${originalBytes} bytes${rest}]` };
}

function lines(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join("\n");
}

/** Says why a child gave no usable result. */
export function failureSentence({ outcome, label }: Pick<ChildReport, "outcome" | "label">): string {
  return OUTCOMES[outcome.status].sentence?.(outcome.fault?.message ?? "", label) ?? "";
}

/** The same for the model of its parent: the sentence may quote an external agent. */
export function failureForModel(report: ChildReport): string {
  const sentence = failureSentence(report);
  return report.external === undefined ? sentence : wordsOf(report.external, sentence);
}

function startedMetadata({ agentId, label, depth, path }: ChildInfo): StartedMetadata {
  return { subagent_id: agentId, subagent_label: label, recursion_depth: depth, path };
}

export function reportMetadata(report: ChildReport): ReportMetadata {
  const { outcome, totalUsage } = report;
  return {
    subagent_id: report.agentId,
    subagent_label: report.label,
    recursion_depth: report.depth,
    turns_used: outcome.turns,
    tool_count: outcome.toolCount,
    tokens_consumed: outcome.usage.totalTokens,
    tree_tokens: totalUsage.totalTokens,
    prompt_tokens: outcome.usage.inputTokens,
    completion_tokens: outcome.usage.outputTokens,
    completion_status: completionStatus(outcome.status),
    max_turns_reached: isOutOfTurns(outcome),
    truncated: report.truncation !== undefined,
    duration_ms: outcome.durationMs,
  };
}
