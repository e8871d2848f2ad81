/** Ends a run from before a restart that is not continued: every run that started has exactly one end. */

import type { RunIdentity, StoredBody } from "../../core/event.ts";
import { toolCallsOf } from "../../core/message.ts";
import type { Fault, RunOutcome, RunStatus } from "../../core/outcome.ts";
import { addCost, addUsage, type Price } from "../../core/usage.ts";
import { resumedRun, unheardAnswer } from "../../loop/resume-run.ts";
import type { EarlierRun } from "./earlier-tree.ts";

/** What became of it, and how it is written down. */
export type Closing = {
  readonly status: RunStatus;
  readonly fault: Fault;
  priceOf(model: string): Price | undefined;
  append(who: RunIdentity, body: StoredBody): void;
  onEnd(run: EarlierRun, outcome: RunOutcome): void;
};

/** Children before parents. */
export function closeRecorded(run: EarlierRun, closing: Closing): RunOutcome {
  const { state, runId } = run;
  const { start } = state;
  const who: RunIdentity = {
    runId,
    agentId: start.agentId,
    parentId: start.parentId,
    path: start.path,
    depth: start.depth,
  };
  closing.append(who, { type: "resume", usedMs: state.usedMs, run: resumedRun(state) });
  for (const child of run.children) if (child.state.end === undefined) closeRecorded(child, closing);
  if (state.unsettled !== undefined) {
    const unheard = unheardAnswer(state.unsettled, closing.priceOf(start.model));
    addUsage(state.usage, unheard.spent);
    state.costUsd = addCost(state.costUsd, unheard.costUsd);
    closing.append(who, unheard);
  }
  for (const [callId, call] of state.calls) {
    if (call.state === "ended") continue;
    const made = state.answer && toolCallsOf(state.answer.message).find((each) => each.callId === callId);
    if (call.state === "asked") {
      const reason = "the run was interrupted";
      closing.append(who, { type: "approval-end", callId, allowed: false, by: "cancelled", reason });
    }
    closing.append(who, {
      type: "tool-call-end",
      callId,
      toolName: made?.toolName ?? "",
      output: "The call was interrupted",
      isError: true,
      durationMs: 0,
    });
  }
  const outcome: RunOutcome = {
    status: closing.status,
    stopReason: undefined,
    text: state.cutText + state.text || (state.closing?.earlier ?? ""),
    fault: closing.fault,
    turns: state.turns,
    toolCount: state.toolCount,
    usage: state.usage,
    costUsd: state.costUsd,
    durationMs: state.usedMs,
  };
  closing.append(who, { type: "run-end", ...outcome });
  run.isTaken = true;
  closing.onEnd(run, outcome);
  return outcome;
}
