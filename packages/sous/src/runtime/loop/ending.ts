/** The end of a run: the turns after the work, what stopped it, and the outcome that is recorded. */

import { BudgetExceeded, ModelError, messageOf, StoreError, stackOf } from "../../core/errors.ts";
import {
  type Fault,
  isSuccess,
  LACKS_APPROVAL,
  type RunOutcome,
  type RunStatus,
  type StopReason,
} from "../../core/outcome.ts";
import type { Run } from "../../core/run.ts";
import { TimedOut } from "../../core/scope.ts";
import type { BilledAnswer } from "../../core/tree-ports.ts";
import { truncateUtf8 } from "../../core/truncate.ts";
import { utf8Length } from "../../core/usage.ts";
import { notify, readInbox } from "./inbox.ts";
import { outputEnding, repairedEnding } from "./parse-output.ts";
import { dropLastCalls } from "./prune.ts";
import { runTurn } from "./run-turn.ts";
import { asKept } from "./to-json.ts";
import type { ClosingTurn } from "./unfinished.ts";

/** The ending of a run, before it is measured. */
export type Ending = {
  status: RunStatus;
  stopReason?: StopReason | undefined;
  output?: unknown;
  fault?: Fault | undefined;
};

/** Names the error that stopped a run. A spent budget may still buy a last turn, which may fail as well. */
export async function endingOf(error: unknown, run: Run): Promise<Ending> {
  if (!(error instanceof BudgetExceeded) || run.scope.aborted) return stoppedBy(error, run);
  run.emit({ type: "budget-warning", message: error.message });
  run.isExhausted = true;
  try {
    // A run without an answer has nothing to sum up.
    if (run.tree.onExhausted === "wrap-up" && run.hasAnswered) await lastTurn(run, "wrap-up");
  } catch (worse) {
    return stoppedBy(worse, run);
  }
  return run.scope.aborted ? abortedEnding(run.scope.reason, run) : budgetEnding(error.message);
}

function stoppedBy(error: unknown, run: Run): Ending {
  // A run that was asked to wrap up is cancelled when its model fails.
  if (run.scope.aborted || (run.isWrappingUp && error instanceof ModelError))
    return abortedEnding(run.scope.reason, run);
  run.cause = error;
  const type = error instanceof ModelError ? "model" : error instanceof StoreError ? "store" : "crash";
  const kind = error instanceof ModelError ? { kind: error.kind } : {};
  return { status: "failed", fault: { type, message: messageOf(error), ...kind, stack: stackOf(error) } };
}

/** Only the run whose deadline it was timed out; what was below it is cancelled. */
function abortedEnding(reason: unknown, run: Run): Ending {
  if (reason instanceof TimedOut && reason.runId === run.who.runId)
    return { status: "timeout", fault: { type: "timeout", message: reason.message } };
  if (reason instanceof BudgetExceeded) return budgetEnding(reason.message);
  return cancelledEnding(cancelledSentence(run));
}

/**
 * Measures the run. A child that had to succeed and did not makes a good ending a failure; an action without the approval it
 * needed makes it incomplete.
 */
export function toOutcome(ending: Ending, run: Run, durationMs: number): RunOutcome {
  const missing = isSuccess(ending) ? run.tree.missingChild(run) : undefined;
  const lacks = run.lacksApproval && isSuccess(ending) ? LACKS_APPROVAL : ending;
  const { status, stopReason }: Ending = missing === undefined ? lacks : { status: "failed" };
  const { output, fault = missing } = ending;
  const { turns, toolCount, usage, costUsd } = run;
  const text = run.cutText + run.text;
  return { status, stopReason, text, output, fault, turns, toolCount, usage, costUsd, durationMs };
}

/** Records the outcome. */
export function recordEnd(run: Run, outcome: RunOutcome): void {
  recordTruncation(run, outcome);
  // A schema may turn the answer into a value that JSON cannot hold, such as a date.
  const output = asKept(outcome.output);
  run.emit({ type: "run-end", ...outcome, output, ...below(run) });
}

/** The parent of a placed run is in another process: it learns from the end alone what was used below. */
function below({ parent, who, usageBelow, costBelowUsd }: Run) {
  const isPlaced = parent === undefined && who.parentId !== null;
  return isPlaced && usageBelow !== undefined ? { usageBelow, costBelowUsd } : {};
}

/** The parent reads a report that is cut; the event belongs to the child. */
function recordTruncation(run: Run, { text }: RunOutcome): void {
  if (run.summary === undefined) return;
  const { maxBytes } = run.summary;
  if (text.length * 3 <= maxBytes) return;
  // Redacted first, as its parent reads it: a mark has another length than the secret.
  const { truncated, originalBytes, keptBytes } = truncateUtf8(run.tree.redactor.text(text), maxBytes);
  if (truncated) run.emit({ type: "truncation", subject: "report", of: run.who.agentId, originalBytes, keptBytes });
}

/** The model stopped asking: checks its output, and lets it sum up for its parent. */
export async function completed(run: Run): Promise<Ending> {
  const { output } = run.profile;
  if (output !== undefined) return outputEnding(run);
  await summarize(run);
  return { status: "completed" };
}

export const OUT_OF_TURNS: Ending = { status: "incomplete", stopReason: "turns" };

/** Out of turns is not an error: what there is counts, and a child may still sum up. */
export async function outOfTurns(run: Run): Promise<Ending> {
  while (await run.tree.nextReport(run)) {
    if (run.isWrappingUp) return wrappedUp(run);
    readInbox(run);
  }
  await summarize(run, { hasAnswer: false });
  return OUT_OF_TURNS;
}

/** The run was asked to wrap up: one turn without tools, then it ends as cancelled with its text. */
export async function wrappedUp(run: Run): Promise<Ending> {
  await lastTurn(run, "wrap-up");
  // Aborted during that turn: it has not wrapped up.
  run.scope.throwIfAborted();
  return wrappedUpEnding(run);
}

function wrappedUpEnding(run: Run): Ending {
  return cancelledEnding(`${cancelledSentence(run)} after wrapping up`);
}

export function cancelledEnding(message: string): Ending {
  return { status: "cancelled", fault: { type: "cancelled", message } };
}

export function budgetEnding(message: string): Ending {
  return { status: "budget_exceeded", fault: { type: "quota", message } };
}

/** The same sentence whatever cancelled the run. People and tests rely on it. */
export function cancelledSentence({ parent }: Run): string {
  return parent === undefined ? "The run was cancelled" : "Subagent cancelled";
}

/** Continues a last turn that a restart interrupted. Its notice is recorded, and perhaps its answer. */
export async function resumeClosing(run: Run, closing: ClosingTurn): Promise<Ending> {
  const { reason, isAnswered, finish, earlier, hasAnswer, exceeded } = closing;
  run.isExhausted = exceeded !== undefined;
  if (reason === "output-repair") return repairedEnding(run, finish);
  if (isAnswered) run.text ||= earlier;
  else await sayLast(run, earlier);
  run.scope.throwIfAborted();
  if (reason === "wrap-up") return exceeded === undefined ? wrappedUpEnding(run) : budgetEnding(exceeded);
  return hasAnswer ? { status: "completed" } : OUT_OF_TURNS;
}

/** One turn without tools, outside `maxTurns`. If it fails, what was said before stays the report. */
async function summarize(run: Run, { hasAnswer }: { hasAnswer: boolean } = { hasAnswer: true }): Promise<void> {
  const { summary } = run;
  if (summary === undefined || summary.mode === "never") return;
  const fits = hasAnswer && utf8Length(run.cutText + run.text) <= summary.maxBytes;
  if (summary.mode === "auto" && summary.prompt === undefined && fits) return;
  await lastTurn(run, "summary", summary.prompt);
  // Aborted during that turn: the answer stays, but the run did not end by itself.
  run.scope.throwIfAborted();
}

/** The earlier text stays what counts, unless this turn says something in its place. */
async function lastTurn(run: Run, reason: "summary" | "wrap-up", text?: string): Promise<void> {
  const earlier = run.cutText + run.text;
  notify(run, reason, text);
  run.cutText = "";
  run.text = "";
  await sayLast(run, earlier);
}

async function sayLast(run: Run, earlier: string): Promise<void> {
  let isSaid = false;
  try {
    const { finish } = await lastWords(run);
    isSaid = finish !== "content-filter" && run.text !== "";
  } catch (error) {
    const isForgivable = error instanceof BudgetExceeded || error instanceof ModelError || run.scope.aborted;
    if (!isForgivable) throw error;
  }
  if (!isSaid && earlier !== "") run.text = earlier;
}

/** The reserve was measured at the last answer. If the results since then make the prompt too long for it, they are left out. */
async function lastWords(run: Run): Promise<BilledAnswer> {
  const options = { closing: true, jsonOutput: false };
  try {
    return await runTurn(run, options);
  } catch (error) {
    if (!(error instanceof BudgetExceeded) || run.scope.aborted || !dropLastCalls(run)) throw error;
    return runTurn(run, options);
  }
}
