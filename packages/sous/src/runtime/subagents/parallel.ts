/** The `parallel_subagent` tool: several tasks at once, one result for each, whatever happens to it. */

import { messageOf } from "../../core/errors.ts";
import { isSuccess, type RunOutcome } from "../../core/outcome.ts";
import type { ChildReport, SpawnReply, SpawnRequest } from "../../core/spawn.ts";
import { type Tool, type ToolContext, type ToolResult, tool } from "../../core/tool.ts";
import { DEFAULT_LIMITS } from "../../core/words/limits.ts";
import { type InputLimits, type ParallelSubagentInput, parallelInputSchema, toSpawnRequest } from "./input.ts";
import { DESCRIPTIONS } from "./prompts.ts";
import {
  failureForModel,
  failureSentence,
  type ReportMetadata,
  reportForModel,
  reportMetadata,
  reportsTogether,
  reportText,
  shortened,
} from "./report.ts";

/** One entry of `results`; a task that never became a child has no metadata of one. */
export type ParallelResult = {
  label: string;
  success: boolean;
  output: string;
  duration_ms: number;
  error?: string;
} & Partial<ReportMetadata>;

/** The `data` of a `parallel_subagent` result. */
export type ParallelOutput = {
  results: ParallelResult[];
  total_duration_ms: number;
  successful: number;
  failed: number;
  /** Only when the call asked for more than the limit: how many ran at once, and a sentence about it. */
  max_concurrent?: number;
  notice?: string;
};

/** A task that is over; one that never became a child has no report. */
type Done = { result: ParallelResult; report: ChildReport | undefined };

type ParallelLimits = Partial<InputLimits> & { maxConcurrent: number; now: () => number };

/** Limits that are not given are the default ones. */
export function parallelTool(limits: ParallelLimits): Tool {
  return tool({
    name: "parallel_subagent",
    description: DESCRIPTIONS.parallel,
    category: "subagent",
    effect: "idempotent",
    inputSchema: parallelInputSchema({ ...DEFAULT_LIMITS, ...limits }),
    execute: (input, context) => runInParallel(input, context, limits),
  }) as Tool;
}

async function runInParallel(
  input: ParallelSubagentInput,
  context: ToolContext,
  limits: ParallelLimits,
): Promise<ToolResult> {
  const startedAt = limits.now();
  const failFast = input.fail_fast === true ? new AbortController() : undefined;
  const done = new Array<Done>(input.tasks.length);
  let next = 0;
  const work = async (): Promise<void> => {
    for (;;) {
      const index = next++;
      const task = input.tasks[index];
      if (task === undefined) return;
      const one = await runOne(task, index, context, failFast);
      done[index] = one;
      if (!one.result.success) failFast?.abort();
    }
  };
  // The tree enforces its own limit, which does not count a child that waits for its own children; so a wider call helps.
  const width = Math.min(input.max_concurrent ?? limits.maxConcurrent, input.tasks.length);
  await Promise.all(Array.from({ length: width }, work));

  const results = done.map(({ result }) => result);
  const successful = results.filter((result) => result.success).length;
  const output: ParallelOutput = {
    results,
    total_duration_ms: Math.round(limits.now() - startedAt),
    successful,
    failed: results.length - successful,
    ...lowered(input.max_concurrent, limits.maxConcurrent),
  };
  return { success: true, output: toText(output, done), data: output };
}

/** The notice for a call that asked for more at once than the limit allows. */
function lowered(asked: number | undefined, limit: number): Pick<ParallelOutput, "max_concurrent" | "notice"> {
  if (asked === undefined || asked <= limit) return {};
  const notice = `max_concurrent was lowered from ${asked} to ${limit}: at most ${limit} subagents work at once here`;
  return { max_concurrent: limit, notice };
}

/** JSON that is not cut in the middle. */
function toText(output: ParallelOutput, done: readonly Done[]): string {
  return reportsTogether(done.length, (maxBytes) =>
    JSON.stringify({ ...output, results: done.map((one) => forModel(one, maxBytes)) }),
  );
}

function forModel({ result, report }: Done, maxBytes: number): ParallelResult {
  if (report === undefined) return result;
  const short = shortened(report, maxBytes);
  const shown: ParallelResult = { ...result, output: reportForModel(short) };
  if (result.error !== undefined) shown.error = failureForModel(report);
  if (short !== report) shown.truncated = true;
  return shown;
}

async function runOne(
  task: ParallelSubagentInput["tasks"][number],
  index: number,
  context: ToolContext,
  failFast: AbortController | undefined,
): Promise<Done> {
  if (failFast?.signal.aborted) {
    return withoutChild(task.label, "Not started: another task failed", "cancelled");
  }
  const request = toSpawnRequest(task, index);
  try {
    return toDone(task.label, await context.spawn(failFast === undefined ? request : orFail(request, failFast)));
  } catch (error) {
    return withoutChild(task.label, messageOf(error), "failed");
  }
}

/** Aborts at the moment of the first failure, so that no other task starts in the slot of the failed one. */
function orFail(request: SpawnRequest, failFast: AbortController): SpawnRequest {
  const onEnd = (outcome: RunOutcome) => {
    if (!isSuccess(outcome)) failFast.abort();
  };
  return { ...request, options: { ...request.options, signal: failFast.signal, onEnd, isRequired: true } };
}

function toDone(label: string, reply: SpawnReply): Done {
  if (reply.kind === "started" || reply.kind === "told")
    throw new Error("A parallel task cannot run in the background");
  if (reply.kind === "refused")
    return withoutChild(label, reply.message, reply.errorType === "cancelled" ? reply.errorType : undefined);
  // The call has no result before the answer has come, and this task is no reason to stop the others.
  if (reply.kind === "parked")
    return { result: { label, success: true, output: "", duration_ms: 0 }, report: undefined };
  const { report } = reply;
  const result: ParallelResult = { label, success: true, output: reportText(report), ...reportMetadata(report) };
  if (isSuccess(report.outcome)) return { result, report };
  return { result: { ...result, success: false, error: failureSentence(report) }, report };
}

function withoutChild(label: string, error: string, completion_status: string | undefined): Done {
  const result: ParallelResult = { label, success: false, output: "", duration_ms: 0, error };
  if (completion_status !== undefined) result.completion_status = completion_status;
  return { result, report: undefined };
}
