/** From what stopped a run to the outcome that is recorded. */

import { BudgetExceeded, ModelError, messageOf, StoreError, stackOf } from "../core/errors.ts";
import {
  type Fault,
  isSuccess,
  LACKS_CONSENT,
  type RunOutcome,
  type RunStatus,
  type StopReason,
} from "../core/outcome.ts";
import type { Run } from "../core/run.ts";
import { TimedOut } from "../core/stopped.ts";
import { truncateUtf8 } from "../core/truncate.ts";
import { budgetEnding, cancelledSentence, wrapUpForBudget } from "./close-run.ts";
import { asKept } from "./to-json.ts";

/** How a run ended, before it is measured. */
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
    if (run.tree.onExhausted === "wrap-up" && run.hasAnswered) await wrapUpForBudget(run);
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

/** Measures the run. An action without the approval it needed makes a good ending incomplete. */
export function toOutcome(ending: Ending, run: Run, durationMs: number): RunOutcome {
  const { status, stopReason }: Ending = run.lacksConsent && isSuccess(ending) ? LACKS_CONSENT : ending;
  return {
    status,
    stopReason,
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

/** Records the outcome. */
export function recordEnd(run: Run, outcome: RunOutcome): void {
  recordTruncation(run, outcome);
  // A schema may turn the answer into a value that JSON cannot hold, such as a date.
  run.emit({ type: "run-end", ...outcome, output: asKept(outcome.output) });
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
