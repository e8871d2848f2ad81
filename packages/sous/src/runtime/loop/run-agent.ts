/** The agent loop: ask the model, run the tools it calls, repeat until it stops asking. */

import { toolCallsOf } from "../../core/message.ts";
import { LACKS_APPROVAL, type RunOutcome } from "../../core/outcome.ts";
import type { Run } from "../../core/run.ts";
import { Parked } from "../../core/scope.ts";
import type { BilledAnswer } from "../../core/tree-ports.ts";
import { cleanUp, closeBelow } from "./clean-up.ts";
import { completed, type Ending, endingOf, outOfTurns, recordEnd, toOutcome, wrappedUp } from "./ending.ts";
import { notify, readInbox } from "./inbox.ts";
import { REFUSED } from "./parse-output.ts";
import { pauseAnswer } from "./provider-activity.ts";
import { type EarlierCalls, runToolCalls, withdrawCalls } from "./run-tool-call.ts";
import { ORDINARY, runTurn } from "./run-turn.ts";

/**
 * Runs one agent on its conversation. Every ending is an outcome and is recorded, except one: a run that waits for an answer
 * that comes later is parked, and stays open in the store. `work` replaces the loop.
 */
export async function runAgent(run: Run, work: (run: Run) => Promise<Ending> = untilEnding): Promise<RunOutcome> {
  const startedAt = run.tree.clock.monotonic() - run.usedMs;
  const durationMs = () => Math.round(run.tree.clock.monotonic() - startedAt);
  let outcome: RunOutcome | undefined;
  try {
    let ending: Ending;
    try {
      ending = await work(run);
    } catch (error) {
      if (error instanceof Parked) {
        await cleanUp(run);
        if (!run.scope.aborted) {
          outcome = toOutcome(LACKS_APPROVAL, run, durationMs());
          run.tree.parked(run, outcome);
          return outcome;
        }
        // It was stopped during the clean-up.
        withdrawCalls(run);
      }
      ending = await endingOf(error, run);
    }
    await closeBelow(run);
    outcome = toOutcome(ending, run, durationMs());
    recordEnd(run, outcome);
    return outcome;
  } finally {
    if (!run.isParked) run.tree.ended(run, outcome);
  }
}

/** Takes turns until one of them is the last. */
export async function untilEnding(run: Run): Promise<Ending> {
  for (;;) {
    run.scope.throwIfAborted();
    readInbox(run);
    if (run.isWrappingUp) return wrappedUp(run);
    if (run.turns >= run.profile.maxTurns) return outOfTurns(run);
    const ending = await actOn(await runTurn(run, ORDINARY), run);
    if (ending !== undefined) return ending;
  }
}

/** Runs the calls of an answer, or judges an answer without calls. Undefined when the run takes another turn. */
export async function actOn(
  { message, finish }: Pick<BilledAnswer, "message" | "finish">,
  run: Run,
  earlier?: EarlierCalls,
): Promise<Ending | undefined> {
  const calls = toolCallsOf(message);
  if (calls.length > 0) {
    run.emptyAnswers = 0;
    run.cutText = "";
    await runToolCalls(calls, run, earlier);
    return undefined;
  }
  if (finish === "paused") {
    pauseAnswer(run, message);
    return undefined;
  }
  if (finish === "content-filter") return REFUSED;
  if (finish === "length") {
    run.cutText += run.text;
    run.text = "";
    notify(run, "cut-answer");
    return undefined;
  }
  if ((run.cutText + run.text).trim() === "") {
    run.emptyAnswers += 1;
    if (run.emptyAnswers > 1)
      return { status: "failed", fault: { type: "model", message: "The model gave an empty answer twice" } };
    notify(run, "empty-answer");
    return undefined;
  }
  // A message has arrived, or a background child has still to report: the run is not over.
  if (run.inbox !== undefined && run.inbox.length > 0) return undefined;
  if (await run.tree.nextReport(run)) return undefined;
  return completed(run);
}
