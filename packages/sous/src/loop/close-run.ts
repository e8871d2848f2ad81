/** The turns after the work: a summary for the parent, and last words when something ran out. */

import { BudgetExceeded, ModelError } from "../core/errors.ts";
import type { BilledAnswer, Run } from "../core/run.ts";
import type { ClosingTurn } from "../core/run-state.ts";
import { utf8Length } from "../core/usage.ts";
import type { Ending } from "./ending.ts";
import { notify, readInbox } from "./inbox.ts";
import { outputEnding, repairedEnding } from "./parse-output.ts";
import { dropLastCalls } from "./prune.ts";
import { runTurn } from "./run-turn.ts";

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
  return cancelledEnding(run);
}

function cancelledEnding(run: Run): Ending {
  const message = `${cancelledSentence(run)} after wrapping up`;
  return { status: "cancelled", fault: { type: "cancelled", message } };
}

export function budgetEnding(message: string): Ending {
  return { status: "budget_exceeded", fault: { type: "quota", message } };
}

/** The same sentence whatever cancelled the run. People and tests rely on it. */
export function cancelledSentence({ parent }: Run): string {
  return parent === undefined ? "The run was cancelled" : "Subagent cancelled";
}

/** The budget is spent: the reserve for last words buys one turn without tools, if it can. */
export async function wrapUpForBudget(run: Run): Promise<void> {
  await lastTurn(run, "wrap-up");
}

/** Continues a last turn that a restart interrupted. Its notice is recorded, and perhaps its answer. */
export async function resumeClosing(run: Run, closing: ClosingTurn): Promise<Ending> {
  const { reason, isAnswered, finish, earlier, hasAnswer, exceeded } = closing;
  run.isExhausted = exceeded !== undefined;
  if (reason === "output-repair") return repairedEnding(run, finish);
  if (isAnswered) run.text ||= earlier;
  else await sayLast(run, earlier);
  run.scope.throwIfAborted();
  if (reason === "wrap-up") return exceeded === undefined ? cancelledEnding(run) : budgetEnding(exceeded);
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

/** What was said before stays what counts, unless this turn says something in its place. */
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
