/** One sum everywhere: the ends of the runs, the totals of the store, the result, and the lines of the log. */

import type { EventOf, SousEvent, StoredEvent } from "../../src/core/event.ts";
import { isSuccess } from "../../src/core/outcome.ts";
import type { RunResult } from "../../src/core/runtime.ts";
import type { Store } from "../../src/core/store.ts";
import { type RunTally, refusalTally, runTally, type Tally } from "../../src/core/totals.ts";

/** Every line of a store, page by page, and each once. */
export async function readTallies(store: Store): Promise<Tally[]> {
  const tallies: Tally[] = [];
  for (let after: string | undefined; ; ) {
    const page = await store.totals({ after, limit: 7 });
    tallies.push(...page.tallies);
    after = page.mark;
    if (page.isComplete) return tallies;
  }
}

/** Where the totals differ from the journal: one line for each end of a run and each refusal, and no other. */
export function compareTallies(tallies: readonly Tally[], journal: readonly StoredEvent[]): string[] {
  const starts = new Map<string, EventOf<"run-start">>();
  const expected: Tally[] = [];
  const project = journal.find(({ type }) => type === "run-start") as EventOf<"run-start"> | undefined;
  for (const event of journal) {
    if (event.type === "run-start") starts.set(event.runId, event);
    if (event.type === "spawn-refused") expected.push(refusalTally(event, project?.cwd));
    const start = starts.get(event.runId);
    if (event.type !== "run-end" || start === undefined) continue;
    const { agent, model, depth, time } = start;
    const run = { agent, model, depth, startedAt: time } as Parameters<typeof runTally>[0];
    expected.push(runTally(run, event, project?.cwd));
  }
  const lines = (all: readonly Tally[]) => all.map((each) => JSON.stringify(inOrder(each))).sort();
  const [is, should] = [lines(tallies), lines(expected)];
  const index = should.findIndex((line, at) => line !== is[at]);
  if (index === -1 && is.length === should.length) return [];
  return [`The totals have ${is.length} lines, the journal ${should.length}; ${is[index]} is not ${should[index]}`];
}

/** What the caller is told, and what all runs of the tree have used by their own ends. */
export function compareResultSum(result: RunResult, journal: readonly StoredEvent[]): string[] {
  const ends = journal.filter((event) => event.type === "run-end");
  const tokens = ends.reduce((sum, { usage }) => sum + usage.totalTokens, 0);
  const isPriced = ends.every(({ costUsd }) => costUsd !== null);
  const cost = isPriced ? ends.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0) : null;
  const problems: string[] = [];
  if (result.usage.totalTokens !== tokens)
    problems.push(`The result has ${result.usage.totalTokens} tokens of ${tokens}`);
  const isSame = cost === null || result.costUsd === null ? cost === result.costUsd : isNear(cost, result.costUsd);
  if (!isSame) problems.push(`The result cost ${result.costUsd}, its runs ${cost}`);
  return problems;
}

/** A log says of each child that ended what it used, and of each that gave nothing usable that it did so. */
export function compareLog(lines: readonly string[], shown: readonly SousEvent[]): string[] {
  const said = lines.map((line): { event: string; tokens_consumed?: number } => JSON.parse(line));
  const complete = said.filter(({ event }) => event === "subagent.complete");
  const ends = shown.filter((event) => event.type === "run-end" && event.depth > 0) as EventOf<"run-end">[];
  const refused = shown.filter((event) => event.type === "spawn-refused" && event.errorType !== "depth_limit").length;
  const errors = said.filter(({ event }) => event === "subagent.error").length;
  const inLog = complete.reduce((sum, { tokens_consumed = 0 }) => sum + tokens_consumed, 0);
  const used = ends.reduce((sum, { usage }) => sum + usage.totalTokens, 0);
  const failed = ends.filter((end) => !isSuccess(end)).length + refused;
  const problems: string[] = [];
  if (complete.length !== ends.length) problems.push(`The log ends ${complete.length} children of ${ends.length}`);
  if (inLog !== used) problems.push(`The log has ${inLog} tokens of ${used}`);
  if (errors !== failed) problems.push(`The log has ${errors} errors of ${failed}`);
  return problems;
}

/** The same fields in the same order. */
function inOrder(tally: Tally): unknown[] {
  if (tally.kind === "refusal")
    return [tally.kind, tally.depth, tally.errorType, tally.startedAt, tally.project ?? null];
  const { agent, model, depth, startedAt, status, turns, usage, costUsd, durationMs }: RunTally = tally;
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, totalTokens, estimated } = usage;
  const used = [inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, totalTokens, estimated];
  const ending = [status, tally.errorType ?? null, turns, ...used, costUsd, durationMs, tally.project ?? null];
  return [tally.kind, agent, model, depth, startedAt, ...ending];
}

function isNear(one: number, other: number): boolean {
  return Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(one), Math.abs(other));
}
