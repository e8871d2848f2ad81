/** Makes a history a provider will take: every call answered once, right after it; ids unique; well-formed Unicode. */

import type { AssistantMessage, Message, ToolResultPart } from "../../core/message.ts";
import { wellFormedCall, withFreshId } from "./clean-answer.ts";

/** Text a model reads: snapshotted. */
export const UNKNOWN_OUTCOME =
  "The outcome of this call is unknown: the run was interrupted before it was recorded. Look before you make it again.";

/** Used whenever a history was not built by the loop just now: a follow-up, a fork, a resume. Returns a new array. */
export function repairHistory(messages: readonly Message[]): Message[] {
  const repaired: Message[] = [];
  const seen = new Set<string>();
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    if (message === undefined || message.role === "tool") continue;
    const clean = wellFormed(message);
    if (clean.role !== "assistant") {
      repaired.push(clean);
      continue;
    }
    const following = messages[index + 1];
    const answers = following?.role === "tool" ? following.content : [];
    const { answer, results } = pairCalls(clean, answers, seen);
    if (answer.content.length > 0) repaired.push(answer);
    if (results.length > 0) repaired.push({ role: "tool", content: results });
  }
  return repaired;
}

/** One result per call, in the order of the calls; results without a call are dropped, a repeated id is renamed. */
function pairCalls(
  message: AssistantMessage,
  answers: readonly ToolResultPart[],
  seen: Set<string>,
): { answer: AssistantMessage; results: ToolResultPart[] } {
  const results: ToolResultPart[] = [];
  const open = [...answers];
  const content = message.content.map((part) => {
    if (part.type !== "tool-call") return part;
    const index = open.findIndex((each) => each.callId === part.callId);
    const [given] = index < 0 ? [] : open.splice(index, 1);
    const call = withFreshId(wellFormedCall(part), seen);
    results.push({
      type: "tool-result",
      callId: call.callId,
      toolName: part.toolName,
      output: (given?.output ?? UNKNOWN_OUTCOME).toWellFormed(),
      isError: given?.isError ?? true,
      ...(given?.files === undefined ? {} : { files: given.files }),
    });
    return call;
  });
  return { answer: { role: "assistant", content }, results };
}

function wellFormed<M extends Message>(message: M): M {
  const isClean = message.content.every((part) => !("text" in part) || part.text.isWellFormed());
  if (isClean) return message;
  const content = message.content.map((part) => ("text" in part ? { ...part, text: part.text.toWellFormed() } : part));
  return { ...message, content } as M;
}
