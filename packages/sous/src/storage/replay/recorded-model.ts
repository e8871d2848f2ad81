/** The model of a rerun: it answers as it did in the recording. */

import { systemPrompt } from "../core/agent.ts";
import { ModelError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { Model, ModelAnswer, ModelRequest, OnDelta } from "../core/model.ts";
import { utf8Length } from "../core/usage.ts";
import { differenceInWords } from "./first-difference.ts";
import type { Playback } from "./playback.ts";
import { comparePrompts, promptDifferenceInWords } from "./recorded-prompts.ts";
import { NOTHING, type PartialAnswer, type RecordedReply, type RunRecording, wasStopped } from "./recording.ts";

export type RecordedModelFacts = Pick<Model, "id" | "price" | "contextWindow">;

/** How far one run has come. */
type Progress = { asked: number; messages: readonly Message[] | undefined; compared: number };

/**
 * Answers the nth request of a run with the nth recorded reply. A request that is not the recorded one, or one too many,
 * fails with a sentence that names the path, the turn and the first difference.
 */
export function recordedModel({ id, price, contextWindow }: RecordedModelFacts, playback: Playback): Model {
  const progressOf = new Map<RunRecording, Progress>();

  async function answer(request: ModelRequest, onDelta: OnDelta): Promise<ModelAnswer> {
    const run = playback.runOf(request.caller.runId);
    if (run === undefined) throw mismatch(request, "the recording has no such run");
    const progress = progressOf.get(run) ?? { asked: 0, messages: undefined, compared: 0 };
    progressOf.set(run, progress);
    const question = run.questions[progress.asked];
    // One that was stopped may have been about to ask.
    if (question === undefined && !wasStopped(run)) throw mismatch(request, "the recording has no further answer");
    check(request, run, progress);
    progress.asked += 1;
    const reply: RecordedReply = question?.reply ?? { kind: "none", partial: NOTHING };
    if (reply.kind === "none") say(reply.partial, onDelta);
    await playback.conductor.turn(reply.kind === "none" ? undefined : reply.event, request.signal);
    return replyOf(reply, playback, onDelta);
  }

  /** Message by message; what was compared before and only grew is not compared again. */
  function check(request: ModelRequest, run: RunRecording, progress: Progress): void {
    const { ids, redactor, prompts } = playback;
    const instructions = ids.toRecorded(redactor.value(request.instructions));
    const recorded = systemPrompt(run.start);
    if (instructions !== recorded) {
      const words = differenceInWords({ expected: recorded, found: instructions });
      throw mismatch(request, `the instructions are not the recorded ones: ${words}`);
    }
    const expected = prompts.messages(run, progress.asked);
    const { messages } = request;
    const from = messages === progress.messages ? Math.min(progress.compared, expected.length) : 0;
    const found = redactor.value(messages.slice(from));
    const difference = comparePrompts(expected.slice(from), found, ids);
    if (difference !== undefined) {
      const words = promptDifferenceInWords({ ...difference, message: difference.message + from });
      throw mismatch(request, `the prompt is not the recorded one: ${words}`);
    }
    progress.messages = messages;
    progress.compared = messages.length;
  }

  return { id, price, contextWindow, takesProviderTool: () => true, answer };
}

function replyOf(reply: RecordedReply, { ids }: Playback, onDelta: OnDelta): ModelAnswer {
  switch (reply.kind) {
    case "answer": {
      const { message, finish, usage, providerCalls } = reply.event;
      return { message: ids.toActual(message), finish, usage: { ...usage }, providerCalls };
    }
    case "failure": {
      const { kind, message } = reply.error;
      say(reply.partial, onDelta);
      const afterOutput = reply.partial.isBilled;
      // No wait here: the next answer comes when it came then, and holds back no other run.
      throw new ModelError(kind, ids.toActual(message), { retryAfterMs: 0, afterOutput });
    }
    case "none":
      throw new Error("Unreachable: an answer that was never recorded is played");
    default:
      return reply satisfies never;
  }
}

/** An attempt is billed by what came of it: the rest of what is not known is thought. */
function say({ text, outputTokens }: PartialAnswer, onDelta: OnDelta): void {
  if (text !== "") onDelta("text", text);
  const rest = outputTokens * 3 - utf8Length(text);
  if (rest > 2) onDelta("reasoning", "?".repeat(rest));
}

function mismatch({ caller }: ModelRequest, sentence: string): ModelError {
  return new ModelError("invalid_request", `${caller.path}, turn ${caller.turn}: ${sentence}`);
}
