/** The answers of a rerun: the model, the person, the rules and the schemas answer as they did in the recording. */

import { systemPrompt } from "../../core/agent.ts";
import type { ApprovalPolicy, Approve } from "../../core/approval.ts";
import { ModelError } from "../../core/errors.ts";
import type { Message } from "../../core/message.ts";
import type { Model, ModelAnswer, ModelRequest, OnDelta } from "../../core/model.ts";
import type { JsonSchema, Parsed, Schema } from "../../core/schema.ts";
import type { ShownTool } from "../../core/tool-set.ts";
import { utf8Length } from "../../core/usage.ts";
import type { Comparison } from "./comparison.ts";
import type { Playback } from "./playback.ts";
import { requestDifference } from "./recorded-prompts.ts";
import { NOTHING, type PartialAnswer, type RecordedReply, type RunRecording } from "./recording.ts";
import { wasStopped } from "./stops.ts";

type RecordedModelFacts = Pick<Model, "id" | "price" | "contextWindow">;

/** The progress of one run. */
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
    const recorded = prompts.messages(run, progress.asked);
    const { instructions, messages } = request;
    const from = messages === progress.messages ? Math.min(progress.compared, recorded.length) : 0;
    const expected = { instructions: systemPrompt(run.start), messages: recorded.slice(from) };
    const found = redactor.value({ instructions, messages: messages.slice(from) });
    const difference = requestDifference(expected, found, ids, from);
    if (difference !== undefined) throw mismatch(request, difference);
    progress.messages = messages;
    progress.compared = messages.length;
  }

  return { id, price, contextWindow, takesProviderTool: () => true, isRecorded: true, answer };
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
      throw new ModelError(kind, ids.toActual(message), { afterOutput });
    }
    case "none":
      throw new Error("Unreachable: an answer that was never recorded is played");
    default:
      return reply satisfies never;
  }
}

/** Sends the recorded text, and filler reasoning for the other output tokens, so that the attempt is billed as it was. */
function say({ text, outputTokens }: PartialAnswer, onDelta: OnDelta): void {
  if (text !== "") onDelta("text", text);
  const rest = outputTokens * 3 - utf8Length(text);
  if (rest > 2) onDelta("reasoning", "?".repeat(rest));
}

function mismatch({ caller }: ModelRequest, sentence: string): ModelError {
  return new ModelError("invalid_request", `${caller.path}, turn ${caller.turn}: ${sentence}`);
}

/** The words of the loop before those of a question that failed (`runtime/loop/ask-approval.ts`). */
const FAILED = "the question failed: ";

/** Asks where it was asked then: by the rules, if there were any, else by the tiers of the tools. */
export function recordedApprovals(playback: Playback): Approve | ApprovalPolicy | undefined {
  const ask = recordedApprove(playback);
  if (playback.root.start.terms?.hasRules !== true) return ask;
  return {
    ask,
    decide({ runId, callId }) {
      const run = playback.runOf(runId);
      const recorded = playback.ids.toRecorded(callId);
      if (run?.asked.has(recorded) === true) return { effect: "ask" };
      // A child that is an external agent is asked about as a part of the call that made it: `call_1/0`.
      const [call = ""] = recorded.split("/");
      const isKnown = run?.calls.has(recorded) === true || run?.calls.has(call) === true;
      return isKnown ? { effect: "allow" } : undefined;
    },
  };
}

/** Undefined when no one could be asked then. */
function recordedApprove(playback: Playback): Approve | undefined {
  const { recording, conductor, ids } = playback;
  const hadPerson = (asked: RunRecording["asked"], approvals: RunRecording["approvals"]): boolean =>
    [...asked.keys()].some((callId) => {
      const approval = approvals.get(callId);
      return approval?.by !== "nobody" || approval.reason?.startsWith(FAILED) === true;
    });
  const wasThere = [...recording.runs.values()].some(
    ({ asked, approvals, toolAsked, toolApprovals }) =>
      hadPerson(asked, approvals) || hadPerson(toolAsked, toolApprovals),
  );
  if (!wasThere) return undefined;
  return async (request, signal) => {
    const run = playback.runOf(request.runId);
    const callId = ids.toRecorded(request.callId);
    const [asked, approvals] =
      request.isFromTool === true ? [run?.toolAsked, run?.toolApprovals] : [run?.asked, run?.approvals];
    if (asked?.has(callId) !== true) return { allow: false, reason: "no one was asked then" };
    const approval = approvals?.get(callId);
    await conductor.turn(approval?.by === "cancelled" ? undefined : approval, signal);
    if (approval?.by === "nobody") throw new Error(approval.reason?.slice(FAILED.length));
    return approval?.allowed === true ? { allow: true } : { allow: false, reason: approval?.reason };
  };
}

/** The input schema of a tool: an input that a person was asked about is known as it was parsed. */
export function playedInput(run: RunRecording, { name, inputSchema }: ShownTool): Schema {
  const verdicts = new Map<string, Parsed>();
  for (const { callId, toolName, input } of run.calls.values()) {
    if (toolName !== name) continue;
    const result = run.results.get(callId);
    const asked = run.asked.get(callId) ?? run.toolAsked.get(callId);
    if (result?.metadata?.error_type === "invalid_input")
      verdicts.set(JSON.stringify(input), { ok: false, problems: [result.output] });
    else if (asked !== undefined) verdicts.set(JSON.stringify(input), { ok: true, value: asked.input });
  }
  return { jsonSchema: inputSchema, parse: (value) => verdicts.get(JSON.stringify(value)) ?? { ok: true, value } };
}

/** The words of the loop before the problems of an answer that it does not ask for again (`runtime/loop/parse-output.ts`). */
const MISMATCH = "The answer does not match the output schema: ";

/** The output schema of a run: asked about its latest answer, it says what became of that. */
export function playedOutput(run: RunRecording, jsonSchema: JsonSchema, comparison: Comparison): Schema {
  const { events, end } = run;
  return {
    jsonSchema,
    parse(value) {
      const answered = events.findLastIndex((event) => event.type === "message-end" && comparison.hasCome(event));
      const repair = events.find(
        (event, index) => index > answered && event.type === "notice" && event.reason === "output-repair",
      );
      if (repair?.type === "notice") return problem(repair.text.slice(repair.text.indexOf("\n") + 1));
      if (end?.fault?.message.startsWith(MISMATCH) === true) return problem(end.fault.message.slice(MISMATCH.length));
      return { ok: true, value: end === undefined ? value : end.output };
    },
  };
}

function problem(text: string): Parsed {
  return { ok: false, problems: [text] };
}
