/** One turn: make room, ask, and put the answer into the conversation. */

import { ModelError } from "../core/errors.ts";
import { textOf } from "../core/message.ts";
import type { FinishReason } from "../core/model.ts";
import type { AskOptions, BilledAnswer, Run } from "../core/run.ts";
import { cleanAnswer } from "./clean-answer.ts";
import { pruneHard, pruneIfFull } from "./prune.ts";

export const ORDINARY: AskOptions = { closing: false, jsonOutput: false };

/** Asks once. The answer is recorded and billed, and holds only calls that may run. */
export async function runTurn(run: Run, options: AskOptions): Promise<BilledAnswer> {
  const said = beginTurn(run, options);
  let answer: BilledAnswer;
  try {
    answer = await run.tree.ask(run, options);
  } catch (error) {
    answer = await askShorter(run, options, error, said);
  }
  return takeAnswer(run, options, answer);
}

/** Makes room and counts the turn. Returns what the run has said so far. */
export function beginTurn(run: Run, { closing }: AskOptions): string {
  pruneIfFull(run);
  if (!closing) run.turns += 1;
  const said = run.text;
  run.text = "";
  return said;
}

/** Puts the answer into the conversation, as it may stay there. */
export function takeAnswer(run: Run, { closing }: AskOptions, answer: BilledAnswer): BilledAnswer {
  const { finish, usage, costUsd } = answer;
  const message = cleanAnswer(answer.message, !closing && mayCallAfter(finish), run.callIds);
  run.text = textOf(message);
  run.hasAnswered = true;
  run.bill(usage, costUsd);
  run.conversation.addAnswer(message, usage.estimated ? undefined : usage);
  run.emit({ type: "message-end", turn: run.turns, message, finish, usage, costUsd });
  return { message, finish, usage, costUsd };
}

/** The input of a call may have been cut together with the answer. */
function mayCallAfter(finish: FinishReason): boolean {
  return finish !== "length" && finish !== "content-filter";
}

/** What failed because the prompt is too long is asked once more with a shorter one. Everything else is thrown again. */
export function askShorter(run: Run, options: AskOptions, error: unknown, said: string): Promise<BilledAnswer> {
  if (!isTooLong(error)) {
    // A run that is stopped before the model has begun to speak has still said what it said before.
    if (run.text === "") run.text = said;
    throw error;
  }
  if (!pruneHard(run)) throw tooLong(error);
  return run.tree.ask(run, options).catch((again: unknown) => {
    throw isTooLong(again) ? tooLong(again) : again;
  });
}

function isTooLong(error: unknown): error is ModelError {
  return error instanceof ModelError && error.kind === "context_length";
}

function tooLong(cause: ModelError): ModelError {
  const message = `The conversation is too long for the model and cannot be shortened: ${cause.message}`;
  return new ModelError("context_length", message, { cause, status: cause.status });
}
