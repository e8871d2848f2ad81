/** Goes on with a run that a restart interrupted: what was done is taken as it is, what was open is done now. */

import type { Spent } from "../core/limits.ts";
import type { Run } from "../core/run.ts";
import type { RunState, UnheardQuestion } from "../core/run-state.ts";
import { costOf, noUsage, type Price, type Usage } from "../core/usage.ts";
import { resumeClosing } from "./close-run.ts";
import type { Ending } from "./ending.ts";
import { untilEnding } from "./run-agent.ts";
import { ToolCallContext } from "./tool-context.ts";

/** The run has its conversation again, without the results of an answer that is still to be acted on. */
export async function resumeRun(run: Run, state: RunState, work?: (run: Run) => Promise<Ending>): Promise<Ending> {
  settleQuestion(run, state);
  run.emit({ type: "resume", usedMs: run.usedMs });
  await callBackground(run);
  if (work !== undefined) return work(run);
  if (state.closing !== undefined) return resumeClosing(run, state.closing);
  return untilEnding(run, state);
}

/** Gives the run what it had counted and said. */
export function restoreCounts(run: Run, state: RunState): void {
  run.turns = state.turns;
  run.hasAnswered = state.turns > 0;
  run.toolCount = state.toolCount;
  run.bill(state.usage, state.costUsd);
  run.text = state.text;
  run.cutText = state.cutText;
  run.usedMs = state.usedMs;
  run.lacksConsent = state.lacksConsent;
  for (const callId of state.callIds) run.callIds.add(callId);
}

/** Nobody heard the answer, but the provider may have given it: what was reserved counts as spent. */
function settleQuestion(run: Run, { unsettled }: RunState): void {
  if (unsettled === undefined) return;
  const unheard = unheardAnswer(unsettled, run.profile.price);
  run.account.charge(notYetCharged(unsettled, unheard));
  run.bill(unheard.spent, unheard.costUsd);
  run.emit(unheard);
}

/** What the books have still to count for a question: at the restart not every price is known. */
export function notYetCharged(
  { charged }: UnheardQuestion,
  { spent, costUsd }: { readonly spent: Usage; readonly costUsd: number | null },
): Spent {
  return {
    tokens: spent.totalTokens - (charged?.tokens ?? 0),
    costUsd: costUsd === null ? null : costUsd - (charged?.costUsd ?? 0),
  };
}

/** A question that the end of a process left open, as an attempt that failed. */
export function unheardAnswer(asked: UnheardQuestion, price: Price | undefined) {
  const { promptTokens: inputTokens, reserved } = asked;
  const outputTokens = Math.max(0, reserved - inputTokens);
  const totalTokens = inputTokens + outputTokens;
  const spent: Usage = { ...noUsage(), inputTokens, outputTokens, totalTokens, estimated: true };
  const costUsd = costOf(spent, price);
  const message = "The process ended before the model had answered";
  return { type: "retry", attempt: 1, delayMs: 0, kind: "interrupted", message, spent, costUsd } as const;
}

/** The gate knows these children by their call: one that lives goes on, one that has ended reports. */
async function callBackground(run: Run): Promise<void> {
  for (const { callId, toolName, input } of run.tree.backgroundCalls(run)) {
    const ready = run.profile.tools.byName.get(toolName);
    if (ready === undefined) continue;
    const parsed = await ready.schema.parse(input);
    using context = new ToolCallContext(run, { callId, toolName });
    // What it answers was read before the restart.
    if (parsed.ok) await ready.tool.execute(parsed.value, context);
  }
}
