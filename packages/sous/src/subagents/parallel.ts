/** The `parallel_subagent` tool: several tasks at once, one result for each, whatever happens to it. */

import { messageOf } from "../core/errors.ts";
import { isSuccess, type RunOutcome } from "../core/outcome.ts";
import type { SpawnReply, SpawnRequest } from "../core/spawn.ts";
import { type Tool, type ToolContext, type ToolResult, tool } from "../core/tool.ts";
import { MAX_RESULT_BYTES, truncateUtf8 } from "../core/truncate.ts";
import { utf8Length } from "../core/usage.ts";
import { type ParallelInput, parallelInputSchema, toSpawnRequest } from "./input.ts";
import { DESCRIPTIONS } from "./prompts.ts";
import { failureSentence, type ReportMetadata, reportMetadata, reportText } from "./report.ts";

/** One entry of `results`; a task that never became a child has no metadata of one. */
export type ParallelResult = {
  label: string;
  success: boolean;
  output: string;
  duration_ms: number;
  error?: string;
} & Partial<ReportMetadata>;

export type ParallelOutput = {
  results: ParallelResult[];
  total_duration_ms: number;
  successful: number;
  failed: number;
};

export function parallelTool(limits: { maxConcurrent: number; now: () => number }): Tool {
  return tool({
    name: "parallel_subagent",
    description: DESCRIPTIONS.parallel,
    category: "subagent",
    effect: "idempotent",
    inputSchema: parallelInputSchema,
    execute: (input, context) => runInParallel(input, context, limits),
  }) as Tool;
}

async function runInParallel(
  input: ParallelInput,
  context: ToolContext,
  limits: { maxConcurrent: number; now: () => number },
): Promise<ToolResult> {
  const startedAt = limits.now();
  const failFast = input.fail_fast === true ? new AbortController() : undefined;
  const results = new Array<ParallelResult>(input.tasks.length);
  let next = 0;
  const work = async (): Promise<void> => {
    for (;;) {
      const index = next++;
      const task = input.tasks[index];
      if (task === undefined) return;
      const result = await runOne(task, index, context, failFast);
      results[index] = result;
      if (!result.success) failFast?.abort();
    }
  };
  const width = Math.min(input.max_concurrent ?? limits.maxConcurrent, input.tasks.length);
  await Promise.all(Array.from({ length: width }, work));

  const successful = results.filter((result) => result.success).length;
  const output: ParallelOutput = {
    results,
    total_duration_ms: Math.round(limits.now() - startedAt),
    successful,
    failed: results.length - successful,
  };
  return { success: true, output: toText(output), data: output };
}

/** JSON that is not cut in the middle: when it is too long together, each output has an equal share and says so. */
function toText(output: ParallelOutput): string {
  const withShare = (share: number) =>
    JSON.stringify({ ...output, results: output.results.map((result) => shorten(result, share)) });
  let text = JSON.stringify(output);
  if (utf8Length(text) <= MAX_RESULT_BYTES) return text;
  text = withShare(0);
  let share = Math.floor((MAX_RESULT_BYTES - utf8Length(text)) / output.results.length);
  // What is escaped is longer in JSON, so the first try may be too long.
  for (; share > 0; share = Math.floor(share * 0.8)) {
    text = withShare(share);
    if (utf8Length(text) <= MAX_RESULT_BYTES) return text;
  }
  return text;
}

function shorten(result: ParallelResult, share: number): ParallelResult {
  const { text, truncated, keptBytes } = truncateUtf8(result.output, share);
  if (!truncated) return result;
  const notice = `[Notice: cut after ${keptBytes} bytes, because of the other results; subagent_report reads the rest]`;
  return { ...result, output: `${text}\n${notice}`, truncated };
}

async function runOne(
  task: ParallelInput["tasks"][number],
  index: number,
  context: ToolContext,
  failFast: AbortController | undefined,
): Promise<ParallelResult> {
  if (failFast?.signal.aborted) {
    return {
      label: task.label,
      success: false,
      output: "",
      duration_ms: 0,
      error: "Not started: another task failed",
      completion_status: "cancelled",
    };
  }
  const request = toSpawnRequest(task, index);
  try {
    return toResult(task.label, await context.spawn(failFast === undefined ? request : orFail(request, failFast)));
  } catch (error) {
    return {
      label: task.label,
      success: false,
      output: "",
      duration_ms: 0,
      error: messageOf(error),
      completion_status: "failed",
    };
  }
}

/** At the moment of the first failure, not when the list is read: nobody takes the place of the one that failed. */
function orFail(request: SpawnRequest, failFast: AbortController): SpawnRequest {
  const onEnd = (outcome: RunOutcome) => {
    if (!isSuccess(outcome)) failFast.abort();
  };
  return { ...request, options: { ...request.options, signal: failFast.signal, onEnd } };
}

function toResult(label: string, reply: SpawnReply): ParallelResult {
  if (reply.kind === "started" || reply.kind === "told")
    throw new Error("A parallel task cannot run in the background");
  if (reply.kind === "refused") {
    const { message: error, errorType } = reply;
    const refused = { label, success: false, output: "", duration_ms: 0, error };
    return errorType === "cancelled" ? { ...refused, completion_status: errorType } : refused;
  }
  const { report } = reply;
  const metadata = reportMetadata(report);
  if (isSuccess(report.outcome)) return { label, success: true, output: reportText(report), ...metadata };
  return { label, success: false, output: reportText(report), error: failureSentence(report), ...metadata };
}
