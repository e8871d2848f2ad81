/** The conversations of the runs of a stored tree, rebuilt from events, with what follow-ups and forks began with. */

import type { EventOf, StoredEvent } from "./event.ts";
import { type Message, type ToolCallPart, type ToolResultPart, toolCallsOf, userMessage } from "./message.ts";
import type { RunStart } from "./run-start.ts";
import type { Store } from "./store.ts";

type StoredHistory = {
  /** The messages of a run, as they stood before the event `before`. */
  messages(runId: string, before?: number): Promise<Message[]>;
  /** The messages that a run which follows this one begins with: all of them, or only the summary that it was asked for. */
  continuation(runId: string, before?: number): Promise<Message[]>;
  /** The text a run ended with; undefined when it has not ended. */
  endText(runId: string): Promise<string | undefined>;
};

/**
 * The messages of a stored run as its model read them at the end, with those that a follow-up or a fork began with. Undefined
 * when there is no such run.
 */
export async function readMessages(store: Store, runId: string): Promise<Message[] | undefined> {
  const record = await store.run(runId);
  return record && readHistory(store, record.rootId).messages(runId);
}

export function readHistory(store: Pick<Store, "read">, rootId: string): StoredHistory {
  const folded =
    (fold: typeof rebuildConversation): StoredHistory["messages"] =>
    async (runId, before = Number.POSITIVE_INFINITY) => {
      const events = (await store.read(rootId, { runId })).filter((event) => event.seq < before);
      const [start] = events;
      return start?.type === "run-start" ? fold(events, await originMessages(start)) : [];
    };
  const messages = folded(rebuildConversation);
  const continuation = folded(continuedConversation);
  const originMessages = async (start: StoredEvent & RunStart): Promise<Message[]> => {
    const { origin } = start;
    if (origin === undefined) return [];
    if (origin.kind === "branch") return [...origin.history];
    // Only what came before: a crafted store in which runs continue one another must not loop forever.
    if (origin.kind === "follow-up") return continuation(origin.runId, start.seq);
    // It may have waited for its slot while its parent continued and pruned.
    const called = await calledAt(origin.runId, start);
    const then = called === undefined ? [] : await messages(origin.runId, called);
    if (then.length === origin.messages) return then;
    return (await messages(origin.runId, start.seq)).slice(0, origin.messages);
  };
  /** The number of the answer that called for this run. */
  const calledAt = async (parentId: string, { call, seq }: StoredEvent & RunStart): Promise<number | undefined> => {
    const events = await store.read(rootId, { runId: parentId });
    const answer = events.findLast(
      (event) =>
        event.type === "message-end" &&
        event.seq < seq &&
        toolCallsOf(event.message).some(({ callId }) => callId === call?.callId),
    );
    return answer?.seq;
  };
  return {
    messages,
    continuation,
    async endText(runId) {
      const last = (await store.read(rootId, { runId })).at(-1);
      return last?.type === "run-end" ? last.text : undefined;
    },
  };
}

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
      default:
    }
  }
  return messages;
}

/** The text before the summary of a conversation. A model reads it: snapshotted. */
export const SUMMARY_HEAD = "A summary of our conversation so far:\n\n";

/** The messages that a run which follows this one begins with: all of them, or only the summary that it was asked for. */
export function continuedConversation(events: readonly StoredEvent[], origin: readonly Message[]): Message[] {
  const [start, last] = [events[0], events.at(-1)];
  if (start?.type !== "run-start" || start.summarizes !== true) return rebuildConversation(events, origin);
  const isSummary = last?.type === "run-end" && last.status === "completed" && last.text.trim() !== "";
  // Without a summary the conversation stays as it was, and the question for one is not part of it.
  return isSummary ? [userMessage(SUMMARY_HEAD + last.text)] : [...origin];
}

/** The calls of the last answer: results arrive in any order and are one message behind it, in the order of the calls. */
class Answer {
  /** The place of the message with the results. */
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
