/** From whatever stopped a run to the outcome that is recorded. */

import { BudgetExceeded, ModelError, messageOf, StoreError, stackOf } from "../core/errors.ts";
import type { Fault, RunOutcome, RunStatus, StopReason } from "../core/outcome.ts";
import { type Run, TimedOut } from "../core/run.ts";
import { budgetEnding, cancelledSentence, wrapUpForBudget } from "./close-run.ts";

/** How a run ended, before it is measured. */
export type Ending = {
  status: RunStatus;
  stopReason?: StopReason | undefined;
  output?: unknown;
  fault?: Fault | undefined;
};

/** Names what was thrown. A spent budget may still buy a last turn. */
export async function endingOf(error: unknown, run: Run): Promise<Ending> {
  if (error instanceof BudgetExceeded && !run.scope.aborted) {
    run.emit({ type: "budget-warning", message: error.message });
    run.isExhausted = true;
    // One that has not been answered yet has nothing to sum up.
    if (run.tree.onExhausted === "wrap-up" && run.hasAnswered) await wrapUpForBudget(run);
    if (!run.scope.aborted) return budgetEnding(error.message);
    return abortedEnding(run.scope.reason, run);
  }
  // One that was told to end has no more to say when the model fails.
  if (run.scope.aborted || (run.isWrappingUp && error instanceof ModelError))
    return abortedEnding(run.scope.reason, run);
  run.cause = error;
  const type = error instanceof ModelError ? "model" : error instanceof StoreError ? "store" : "crash";
  return {
    status: "failed",
    fault: { type, message: messageOf(error), stack: stackOf(error) },
  };
}

/** Only the run whose deadline it was timed out; what was below it is cancelled. */
function abortedEnding(reason: unknown, run: Run): Ending {
  if (reason instanceof TimedOut && reason.runId === run.who.runId)
    return { status: "timeout", fault: { type: "timeout", message: reason.message } };
  if (reason instanceof BudgetExceeded) return budgetEnding(reason.message);
  return { status: "cancelled", fault: { type: "cancelled", message: cancelledSentence(run) } };
}

/** Measures the run. An action that needed consent when nobody was there outweighs a good ending, whatever the text says. */
export function toOutcome(ending: Ending, run: Run, durationMs: number): RunOutcome {
  const isHeld = run.lacksConsent && (ending.status === "completed" || ending.status === "incomplete");
  return {
    status: isHeld ? "incomplete" : ending.status,
    stopReason: isHeld ? "consent" : ending.stopReason,
    text: run.cutText + run.text,
    output: ending.output,
    fault: ending.fault,
    turns: run.turns,
    toolCount: run.toolCount,
    usage: run.usage,
    costUsd: run.costUsd,
    durationMs,
  };
}
