/** From ended runs to what the caller of the library gets. */

import type { OpenQuestion } from "../core/approval.ts";
import { MissingKey, ModelError, StaleOwner } from "../core/errors.ts";
import { type RunOutcome, statusOfRefusal } from "../core/outcome.ts";
import type { Redactor } from "../core/redactor.ts";
import type { Run } from "../core/run.ts";
import { type FailureKind, type RunResult, withoutRun } from "../core/runtime.ts";
import type { SpawnReply } from "../core/spawn.ts";
import { addCost, addUsage, noUsage } from "../core/usage.ts";
import type { Tree } from "./tree.ts";

/** After a follow-up the figures are still those of the whole tree; the ending and what was denied are this run's own. */
export function rootResult(run: Run, outcome: RunOutcome, tree: Tree, questions: OpenQuestion[]): RunResult {
  const agents = tree.book.summaries(run.who.agentId);
  const usage = noUsage();
  let costUsd: number | null = 0;
  for (const each of agents) {
    addUsage(usage, each.usage); // guard: usage-of-children
    costUsd = addCost(costUsd, each.costUsd);
  }
  const { runId } = run.who;
  const own = fromOutcome(outcome, tree.redactor);
  const kind = outcome.status === "failed" ? kindOf(run.cause) : undefined;
  return {
    ...own,
    error: own.error && kind ? { ...own.error, kind } : own.error,
    usage,
    costUsd,
    runId,
    agents,
    denied: tree.denied.splice(0),
    questions,
    lost: tree.lost,
  };
}

/** One input of a fan-out. A refused one is a failed result of its own; nothing is thrown. */
export function toResult<Output>(reply: SpawnReply, tree: Tree, questions: readonly OpenQuestion[]): RunResult<Output> {
  if ((reply.kind === "ended" || reply.kind === "parked") && reply.report !== undefined) {
    const { outcome, totalUsage, totalCostUsd, runId, agentId, path } = reply.report;
    const isBelow = (other: string) => other === path || other.startsWith(`${path}/`);
    return {
      ...fromOutcome(outcome, tree.redactor),
      usage: totalUsage,
      costUsd: totalCostUsd,
      runId,
      agents: tree.book.summaries(agentId),
      denied: tree.denied.filter((each) => isBelow(each.path)),
      questions: reply.kind === "parked" ? questions.filter((each) => isBelow(each.path)) : [],
      lost: tree.lost,
    } as RunResult<Output>;
  }
  const message = reply.kind === "refused" ? reply.message : "The child runs in the background";
  const errorType = reply.kind === "refused" ? reply.errorType : "crash";
  return { ...withoutRun(statusOfRefusal(errorType), { type: errorType, message }), lost: tree.lost };
}

function kindOf(cause: unknown): FailureKind | undefined {
  if (cause instanceof ModelError) return cause.kind;
  if (cause instanceof MissingKey) return "auth";
  return cause instanceof StaleOwner ? "taken_over" : undefined;
}

function fromOutcome(
  outcome: RunOutcome,
  redactor: Redactor,
): Pick<RunResult, "status" | "stopReason" | "text" | "output" | "turns" | "durationMs" | "error"> {
  const { status, stopReason, text, output, turns, durationMs, fault } = outcome;
  return {
    status,
    stopReason,
    text,
    output,
    turns,
    durationMs,
    // Providers quote the key that they refuse.
    error: fault && { type: fault.type, message: redactor.text(fault.message) },
  };
}
