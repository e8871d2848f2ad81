/** One turn: make room, ask, and put the answer into the conversation. */

import { ModelError } from "../core/errors.ts";
import { type AssistantMessage, textOf } from "../core/message.ts";
import type { AskOptions, BilledAnswer, Run } from "../core/run.ts";
import { pruneHard, pruneIfFull } from "./prune.ts";

const ORDINARY: AskOptions = { closing: false, jsonOutput: false };

/** Asks once. The answer is recorded, billed, and its tool calls have ids that were never used before. */
export async function runTurn(run: Run, options: AskOptions = ORDINARY): Promise<BilledAnswer> {
  pruneIfFull(run);
  if (!options.closing) run.turns += 1;
  run.text = "";
  let answer: BilledAnswer;
  try {
    answer = await run.tree.ask(run, options);
  } catch (error) {
    // A prompt that is too long is pruned once; if that does not help, the failure says so.
    if (!(error instanceof ModelError && error.kind === "context_length") || !pruneHard(run)) throw error;
    answer = await run.tree.ask(run, options);
  }
  const message = withFreshIds(withoutForbiddenCalls(answer.message, options), run);
  run.text = textOf(message);
  run.bill(answer.usage, answer.costUsd);
  run.conversation.addAnswer(message, answer.usage.estimated ? undefined : answer.usage);
  const { finish, usage, costUsd } = answer;
  run.emit({ type: "message-end", turn: run.turns, message, finish, usage, costUsd });
  return { message, finish, usage, costUsd };
}

/** In a closing turn nothing may run, even when the model asks for it. */
function withoutForbiddenCalls(message: AssistantMessage, { closing }: AskOptions): AssistantMessage {
  if (!closing || !message.content.some((part) => part.type === "tool-call")) return message;
  return { role: "assistant", content: message.content.filter((part) => part.type !== "tool-call") };
}

/** Providers may repeat an id; a history in which two calls share one is refused by all of them. */
function withFreshIds(message: AssistantMessage, run: Run): AssistantMessage {
  let renamed: AssistantMessage["content"][number][] | undefined;
  for (let index = 0; index < message.content.length; index++) {
    const part = message.content[index];
    if (part?.type !== "tool-call") continue;
    let callId = part.callId;
    for (let copy = 2; callId === "" || run.callIds.has(callId); copy++) callId = `${part.callId || "call"}_${copy}`;
    run.callIds.add(callId);
    if (callId === part.callId) continue;
    renamed ??= [...message.content];
    renamed[index] = { ...part, callId };
  }
  return renamed === undefined ? message : { role: "assistant", content: renamed };
}
