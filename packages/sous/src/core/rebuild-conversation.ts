/** The conversation of a run as a fold over its events: what the live loop had, message for message, also across follow-ups and forks. */

import type { EventOf, StoredEvent } from "./event.ts";
import { type Message, type ToolCallPart, type ToolResultPart, toolCallsOf, userMessage } from "./message.ts";

/**
 * `events` are those of one run, in order; `origin` is what its conversation began with before the task (the earlier run of
 * a follow-up, the parent's first messages of a fork). Calls without a recorded result stay unanswered: the caller that sends the
 * history repairs it first.
 */
export function rebuildConversation(events: readonly StoredEvent[], origin: readonly Message[]): Message[] {
  const messages: Message[] = [...origin];
  let lastAnswer = new Answer([], 0);
  for (const event of events) {
    switch (event.type) {
      case "run-start":
        messages.push(event.task);
        break;
      case "message-end":
        if (event.message.content.length > 0) messages.push(event.message);
        lastAnswer = new Answer(toolCallsOf(event.message), messages.length);
        break;
      case "tool-call-end":
        lastAnswer.addResult(event, messages);
        break;
      case "steer":
      case "notice":
      case "report":
        messages.push(userMessage(event.text));
        break;
      case "prune":
        messages.splice(event.from, event.dropped);
        lastAnswer.index -= event.dropped;
        break;
      case "turn-start":
      case "tool-call-start":
      case "outside-session":
      case "outside-call":
      case "approval-request":
      case "approval-end":
      case "budget-warning":
      case "retry":
      case "truncation":
      case "spawn-refused":
      case "stalled":
      case "cancel":
      case "resume":
      case "run-end":
        break;
      default:
        event satisfies never;
    }
  }
  return messages;
}

/** Before the summary of a conversation. Text a model reads: snapshotted. */
export const SUMMARY_HEAD = "A summary of our conversation so far:\n\n";

/** What a run that follows this one begins with: all of its messages, or only the summary that it was asked for. */
export function continuedConversation(events: readonly StoredEvent[], origin: readonly Message[]): Message[] {
  const [start, last] = [events[0], events.at(-1)];
  if (start?.type !== "run-start" || start.summarizes !== true) return rebuildConversation(events, origin);
  const isSummary = last?.type === "run-end" && last.status === "completed" && last.text.trim() !== "";
  // Without a summary the conversation stays as it was, and the question for one is not part of it.
  return isSummary ? [userMessage(SUMMARY_HEAD + last.text)] : [...origin];
}

/** The calls of the last answer: results arrive in any order and are one message behind it, in the order of the calls. */
class Answer {
  /** Where the message with the results belongs. */
  index: number;
  readonly #callIds: readonly string[];
  #results: ToolResultPart[] | undefined;

  constructor(calls: readonly ToolCallPart[], index: number) {
    this.#callIds = calls.map((call) => call.callId);
    this.index = index;
  }

  addResult({ callId, toolName, output, isError, files }: EventOf<"tool-call-end">, messages: Message[]): void {
    if (this.#results === undefined) {
      this.#results = [];
      messages.splice(this.index, 0, { role: "tool", content: this.#results });
    }
    const result: ToolResultPart = { type: "tool-result", callId, toolName, output, isError };
    if (files !== undefined) result.files = files;
    this.#results.push(result);
    this.#results.sort((left, right) => this.#callIds.indexOf(left.callId) - this.#callIds.indexOf(right.callId));
  }
}
