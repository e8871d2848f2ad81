/** The agent loop: ask the model, run the tools it calls, repeat until it stops asking. */

import { toolCallsOf } from "../core/message.ts";
import type { RunOutcome } from "../core/outcome.ts";
import type { BilledAnswer, Run } from "../core/run.ts";
import type { RunState } from "../core/run-state.ts";
import { truncateUtf8 } from "../core/truncate.ts";
import { cleanUpAfter } from "./clean-up.ts";
import { completed, outOfTurns, wrappedUp } from "./close-run.ts";
import { type Ending, endingOf, toOutcome } from "./ending.ts";
import { notify, readInbox } from "./inbox.ts";
import { runToolCalls } from "./run-tool-calls.ts";
import { askShorter, beginTurn, ORDINARY, takeAnswer } from "./run-turn.ts";
import { asKept } from "./to-json.ts";

type EarlierAnswer = Pick<RunState, "answer" | "calls" | "emptyAnswers">;

/**
 * Runs one agent on the conversation it was given. Every ending is an outcome and is recorded. A chain, not an async
 * function: that would keep one more frame for every live child.
 */
export function runAgent(run: Run, work: (run: Run) => Promise<Ending> = fromTheStart): Promise<RunOutcome> {
  const startedAt = run.tree.clock.monotonic() - run.usedMs;
  return work(run).then(
    (ending) => finish(ending, run, startedAt),
    async (error: unknown) => {
      // Last words may fail in ways of their own, and that is an ending too.
      const ending = await endingOf(error, run).catch((worse: unknown) => endingOf(worse, run));
      return finish(ending, run, startedAt);
    },
  );
}

async function finish(ending: Ending, run: Run, startedAt: number): Promise<RunOutcome> {
  let outcome: RunOutcome | undefined;
  try {
    try {
      // A program outside may send to a child while others are being stopped, so repeat until none is left.
      for (let closing = run.tree.closeChildren(run); closing !== undefined; closing = run.tree.closeChildren(run)) {
        await closing;
      }
      run.tree.closeOrphans(run);
    } finally {
      const cleaning = cleanUpAfter(run);
      if (cleaning !== undefined) await cleaning;
    }
    outcome = toOutcome(ending, run, Math.round(run.tree.clock.monotonic() - startedAt));
    noteTruncation(run, outcome);
    // A schema may turn the answer into what only this process can hold, such as a date.
    run.emit({ type: "run-end", ...outcome, output: asKept(outcome.output) });
    return outcome;
  } finally {
    run.tree.ended(run, outcome);
  }
}

/** The report of a child will be cut where its parent reads it; the fact belongs to the child. */
function noteTruncation(run: Run, { text }: RunOutcome): void {
  if (run.summary === undefined) return;
  const { maxBytes } = run.summary;
  if (text.length * 3 <= maxBytes) return;
  // As its parent will read it: a mark has another length than what it stands for.
  const { truncated, originalBytes, keptBytes } = truncateUtf8(run.tree.redactor.text(text), maxBytes);
  if (truncated) run.emit({ type: "truncation", subject: "report", of: run.who.agentId, originalBytes, keptBytes });
}

function fromTheStart(run: Run): Promise<Ending> {
  return untilEnding(run);
}

/** `earlier` is where a run stood that goes on after a restart: its last answer may still have to be acted on. */
export async function untilEnding(run: Run, earlier?: EarlierAnswer): Promise<Ending> {
  let emptyAnswers = earlier?.emptyAnswers ?? 0;
  let pending = earlier?.answer;
  for (;;) {
    // Calls that had begun before a restart have an end each, also when the run was stopped by now.
    if (pending === undefined || toolCallsOf(pending.message).length === 0) run.scope.throwIfAborted();
    if (pending === undefined) {
      readInbox(run);
      if (run.isWrappingUp) return wrappedUp(run);
      if (run.turns >= run.profile.maxTurns) return outOfTurns(run);
    }
    let answer = pending;
    if (answer === undefined) {
      // `runTurn`, written out: a function of its own would keep one more frame for every live child.
      const said = beginTurn(run, ORDINARY);
      let given: BilledAnswer;
      try {
        given = await run.tree.ask(run, ORDINARY);
      } catch (error) {
        given = await askShorter(run, ORDINARY, error, said);
      }
      answer = takeAnswer(run, ORDINARY, given);
    }
    const { message, finish } = answer;
    const calls = toolCallsOf(message);
    if (calls.length > 0) {
      emptyAnswers = 0;
      run.cutText = "";
      await runToolCalls(calls, run, pending === undefined ? undefined : earlier?.calls);
      if (pending !== undefined) run.tree.closeOrphans(run);
      pending = undefined;
      continue;
    }
    pending = undefined;
    if (finish === "content-filter")
      return { status: "refused", fault: { type: "refused", message: "The model refused the task" } };
    if (finish === "length") {
      run.cutText += run.text;
      run.text = "";
      notify(run, "cut-answer");
      continue;
    }
    if ((run.cutText + run.text).trim() === "") {
      emptyAnswers += 1;
      if (emptyAnswers > 1)
        return { status: "failed", fault: { type: "model", message: "The model gave an empty answer twice" } };
      notify(run, "empty-answer");
      continue;
    }
    // Somebody spoke meanwhile, or a background child is still to report: the run is not over.
    if (run.inbox !== undefined && run.inbox.length > 0) continue;
    if (await run.tree.nextReport(run)) continue;
    return completed(run);
  }
}
