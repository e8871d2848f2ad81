/** One turn: make room, ask, and add the answer to the conversation. */

import { ModelError } from "../../core/errors.ts";
import { textOf } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";
import type { AskOptions, BilledAnswer } from "../../core/tree-ports.ts";
import { cleanAnswer } from "./clean-answer.ts";
import { recordActivity } from "./provider-activity.ts";
import { pruneHard, pruneIfFull } from "./prune.ts";

export const ORDINARY: AskOptions = { closing: false, jsonOutput: true };

/** Asks once. The answer is recorded and billed, and holds only calls that may run. */
export async function runTurn(run: Run, options: AskOptions): Promise<BilledAnswer> {
  const { closing, jsonOutput } = options;
  const mayCall = !closing && run.profile.settings.toolChoice !== "none";
  pruneIfFull(run);
  // A repaired output is a turn like any other; a summary and last words are not.
  if (!closing || jsonOutput) run.turns += 1;
  const earlierText = run.text;
  run.text = "";
  let answer: BilledAnswer;
  try {
    answer = await run.tree.ask(run, options);
  } catch (error) {
    if (isTooLong(error)) answer = await askShorter(run, options, error);
    else {
      // A run that is stopped before the model begins to answer keeps its earlier text.
      run.text ||= earlierText;
      // A turn that a stop ends before it is recorded does not count: a rerun cannot know whether it had come so far.
      if (run.scope.aborted) run.turns = Math.min(run.turns, run.recordedTurns);
      throw error;
    }
  }
  const { finish, usage, costUsd, providerCalls } = answer;
  // The input of a call may have been cut together with the answer.
  const isWhole = finish !== "length" && finish !== "content-filter";
  const message = cleanAnswer(answer.message, mayCall && isWhole, run.callIds);
  run.text = textOf(message);
  run.hasAnswered = true;
  run.bill(usage, costUsd);
  run.conversation.addAnswer(message, usage.estimated ? undefined : usage);
  const billed = providerCalls === undefined ? { usage, costUsd } : { usage, costUsd, providerCalls };
  run.emit({ type: "message-end", turn: run.turns, message, finish, ...billed });
  recordActivity(message, run);
  return { message, finish, usage, costUsd };
}

/** Asks once more with a shorter prompt, after one that was too long for the model. */
async function askShorter(run: Run, options: AskOptions, error: ModelError): Promise<BilledAnswer> {
  if (!pruneHard(run)) throw tooLong(error);
  try {
    return await run.tree.ask(run, options);
  } catch (again) {
    throw isTooLong(again) ? tooLong(again) : again;
  }
}

function isTooLong(error: unknown): error is ModelError {
  return error instanceof ModelError && error.kind === "context_length";
}

function tooLong(cause: ModelError): ModelError {
  const message = `The conversation is too long for the model and cannot be shortened: ${cause.message}`;
  return new ModelError("context_length", message, { cause, status: cause.status });
}
