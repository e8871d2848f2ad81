/** Continues a run that a restart interrupted: recorded results are reused, open calls run now. */

import type { ResumedRun } from "../../core/event.ts";
import type { Spent } from "../../core/limits.ts";
import { toolCallsOf } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";
import { costOf, noUsage, type Price, type Usage } from "../../core/usage.ts";
import { type Ending, resumeClosing } from "./ending.ts";
import { recordActivity } from "./provider-activity.ts";
import { actOn, untilEnding } from "./run-agent.ts";
import type { RunState } from "./run-state.ts";
import { ToolCallContext } from "./tool-context.ts";
import type { UnheardQuestion } from "./unfinished.ts";

/** The conversation of the run is restored, without the results of an answer that has still to be acted on. */
export async function resumeRun(run: Run, state: RunState, work?: (run: Run) => Promise<Ending>): Promise<Ending> {
  const { worker } = run.tree;
  const attempt = worker === undefined || state.start.placed === undefined ? undefined : state.takings + 1;
  run.emit({
    ...{ type: "resume", usedMs: run.usedMs, run: resumedRun(state) },
    ...(worker !== undefined && { worker }),
    ...(attempt !== undefined && { attempt }),
  });
  settleQuestion(run, state); // guard: settle-question
  if (state.answer !== undefined) recordActivity(state.answer.message, run, state.activity);
  await callBackground(run);
  if (work !== undefined) return work(run);
  if (state.closing !== undefined) return resumeClosing(run, state.closing);
  const { answer, calls } = state;
  if (answer === undefined) return untilEnding(run);
  const hasCalls = toolCallsOf(answer.message).length > 0;
  // Calls that had begun before the restart get a result each, also when the run has been stopped since.
  if (!hasCalls) run.scope.throwIfAborted();
  const ending = await actOn(answer, run, calls);
  if (hasCalls) run.tree.closeOrphans(run);
  return ending ?? untilEnding(run);
}

export function resumedRun({ start, turns, usage, retried, answeredSeq }: RunState): ResumedRun {
  const { agent, label, model, call, traceparent, time: startedAt } = start;
  return {
    ...{ agent, label, model, call, startedAt, turns, usage: { ...usage } },
    ...(retried.totalTokens > 0 && { retried: { ...retried } }),
    ...(traceparent !== undefined && { traceparent }),
    ...(answeredSeq !== undefined && { answeredSeq }),
  };
}

/** Gives the run what it had counted and said. */
export function restoreCounts(run: Run, state: RunState): void {
  run.turns = state.turns;
  run.recordedTurns = state.turns;
  run.hasAnswered = state.turns > 0;
  run.toolCount = state.toolCount;
  run.bill(state.usage, state.costUsd);
  run.text = state.text;
  run.cutText = state.cutText;
  run.emptyAnswers = state.emptyAnswers;
  run.usedMs = state.usedMs;
  run.lacksApproval = state.lacksApproval;
  const asked = [...state.calls].filter(([, call]) => call.state === "asked").map(([callId]) => callId);
  if (asked.length > 0) run.openQuestions = new Set(asked);
  for (const callId of state.callIds) run.callIds.add(callId);
}

/** The provider may have billed an answer that never arrived, so the reservation counts as spent. */
function settleQuestion(run: Run, { unsettled }: RunState): void {
  if (unsettled === undefined) return;
  const unheard = unheardAnswer(unsettled, run.profile.price);
  run.account.charge(notYetCharged(unsettled, unheard));
  run.bill(unheard.spent, unheard.costUsd);
  run.emit(unheard);
}

/** The part of a question that the ledger has not counted yet: not every price is known at the restart. */
export function notYetCharged(
  { charged }: UnheardQuestion,
  { spent, costUsd }: { readonly spent: Usage; readonly costUsd: number | null },
): Spent {
  return {
    tokens: spent.totalTokens - (charged?.tokens ?? 0),
    costUsd: costUsd === null ? null : costUsd - (charged?.costUsd ?? 0),
  };
}

/** An unanswered question of an ended process, as a failed attempt. */
export function unheardAnswer(asked: UnheardQuestion, price: Price | undefined) {
  const { promptTokens: inputTokens, reserved } = asked;
  const outputTokens = Math.max(0, reserved - inputTokens);
  const totalTokens = inputTokens + outputTokens;
  const spent: Usage = { ...noUsage(), inputTokens, outputTokens, totalTokens, estimated: true };
  const costUsd = asked.reservedUsd ?? costOf(spent, price);
  const message = "The process ended before the model had answered";
  return { type: "retry", attempt: 1, delayMs: 0, kind: "interrupted", message, spent, costUsd } as const;
}

/** Makes the recorded background calls again. The gate finds the child of each: it continues, or reports if it has ended. */
async function callBackground(run: Run): Promise<void> {
  for (const { callId, toolName, input } of run.tree.backgroundCalls(run)) {
    const ready = run.profile.tools.byName.get(toolName);
    if (ready === undefined) continue;
    const parsed = await ready.schema.parse(input);
    using context = new ToolCallContext(run, { callId, toolName });
    // The model read the result of this call before the restart.
    if (parsed.ok) await ready.tool.execute(parsed.value, context);
  }
}
