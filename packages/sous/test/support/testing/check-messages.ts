/** Says what a provider would refuse in a history: calls must be answered once, ids unique, text well-formed. */

import { isWellFormed } from "../../../src/core/clean-text.ts";
import type { Message } from "../../../src/core/message.ts";
import type { RecordedRequest } from "../../../src/testing/scripted-model.ts";

/** One sentence for each thing a provider would refuse; none when the history can be sent. */
export function checkMessages(messages: readonly Message[]): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const problem = (what: string) => problems.push(`message ${index} (${message.role}) ${what}`);
    if (message.role !== "tool" && open.size > 0) {
      problem(`comes while ${[...open].join(", ")} has no result`);
      open = new Set();
    }
    if (message.content.length === 0) problem("is empty");
    for (const part of message.content) {
      switch (part.type) {
        case "text":
        case "reasoning":
          if (!part.text.isWellFormed()) problem("is not well-formed Unicode");
          break;
        case "tool-call":
          if (part.callId === "") problem("has a call without an id");
          if (seen.has(part.callId)) problem(`uses the call id ${part.callId} again`);
          if (!isWellFormed(part.input)) problem(`has an input of ${part.callId} that is not well-formed Unicode`);
          seen.add(part.callId);
          open.add(part.callId);
          break;
        case "tool-result":
          if (!open.delete(part.callId)) problem(`answers ${part.callId}, which is not open`);
          if (!part.output.isWellFormed()) problem(`has a result of ${part.callId} that is not well-formed Unicode`);
          break;
        case "file":
        case "provider":
          break;
        default:
          part satisfies never;
      }
    }
  }
  if (messages[0]?.role !== "user") problems.push("the history does not begin with a user message");
  // A provider that has paused continues its own message.
  const isPaused = messages.at(-1)?.content.some(({ type }) => type === "provider") === true;
  if (messages.at(-1)?.role === "assistant" && !isPaused)
    problems.push("the history ends with the model's own message");
  if (open.size > 0) problems.push(`the history ends while ${[...open].join(", ")} has no result`);
  return problems;
}

/** The same for every request a scripted model has recorded; each sentence names the agent and its turn. */
export function checkRequests(requests: readonly RecordedRequest[]): string[] {
  return requests.flatMap(({ path, turn, messages, tools }) => [
    ...checkMessages(messages).map((problem) => `${path}, request ${turn}: ${problem}`),
    ...(new Set(tools).size === tools.length ? [] : [`${path}, request ${turn}: two tools have one name`]),
  ]);
}
