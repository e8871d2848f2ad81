/** One turn: make room, ask, and put the answer into the conversation. */

import { ModelError } from "../core/errors.ts";
import { textOf } from "../core/message.ts";
import type { FinishReason } from "../core/model.ts";
import type { AskOptions, BilledAnswer, Run } from "../core/run.ts";
import { cleanAnswer } from "./clean-answer.ts";
import { pruneHard, pruneIfFull } from "./prune.ts";

const ORDINARY: AskOptions = { closing: false, jsonOutput: false };

/** Asks once. The answer is recorded and billed, and holds only calls that may run. */
export async function runTurn(run: Run, options: AskOptions = ORDINARY): Promise<BilledAnswer> {
  pruneIfFull(run);
  if (!options.closing) run.turns += 1;
  const said = run.text;
  run.text = "";
  let answer: BilledAnswer;
  try {
    answer = await run.tree.ask(run, options);
  } catch (error) {
    if (isTooLong(error)) answer = await askShorter(run, options, error);
    else {
      // A run that is stopped before the model has begun to speak has still said what it said before.
      if (run.text === "") run.text = said;
      throw error;
    }
  }
  const { finish, usage, costUsd } = answer;
  const message = cleanAnswer(answer.message, !options.closing && mayCallAfter(finish), run.callIds);
  run.text = textOf(message);
  run.bill(usage, costUsd);
  run.conversation.addAnswer(message, usage.estimated ? undefined : usage);
  run.emit({ type: "message-end", turn: run.turns, message, finish, usage, costUsd });
  return { message, finish, usage, costUsd };
}

/** The input of a call may have been cut together with the answer. */
function mayCallAfter(finish: FinishReason): boolean {
  return finish !== "length" && finish !== "content-filter";
}

/** A prompt that is too long is pruned once; if that does not help, the failure says so. */
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
