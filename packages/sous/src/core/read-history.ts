/** The conversations of the runs of a stored tree, rebuilt from events, with what follow-ups and forks began with. */

import type { EventOf, StoredEvent } from "./event.ts";
import { type Message, type ToolCallPart, type ToolResultPart, toolCallsOf, userMessage } from "./message.ts";
import type { RunStart } from "./run-start.ts";
import type { Store } from "./store.ts";

type StoredHistory = {
  /** The messages of a run, as they stood before the event `before` of its journal. */
  messages(runId: string, before?: number): Promise<Message[]>;
  /** The messages that a run which follows this one begins with: all of them, or only the summary that it was asked for. */
  continuation(runId: string, before?: number): Promise<Message[]>;
  /** The text a run ended with; undefined when it has not ended. */
  endText(runId: string): Promise<string | undefined>;
};

/** A store that says in which journal a run is finds runs of other journals of the tree, too. */
type HistoryStore = Pick<Store, "read"> & Partial<Pick<Store, "run">>;

/**
 * The messages of a stored run as its model read them at the end, with those that a follow-up or a fork began with. Undefined
 * when there is no such run.
 */
export async function readMessages(store: Store, runId: string): Promise<Message[] | undefined> {
  const record = await store.run(runId);
  return record && readHistory(store, record.journalId).messages(runId);
}

/** The histories of the runs of a journal, and of those in other journals of its tree. */
export function readHistory(store: HistoryStore, journalId: string): StoredHistory {
  const history = new History(store);
  const folded =
    (fold: Fold): StoredHistory["messages"] =>
    (runId, before) =>
      history.messages({ runId, near: journalId, before }, fold);
  return {
    messages: folded(rebuildConversation),
    continuation: folded(continuedConversation),
    async endText(runId) {
      const last = (await history.eventsOf(runId, journalId)).events.at(-1);
      return last?.type === "run-end" ? last.text : undefined;
    },
  };
}

type Fold = typeof rebuildConversation;

/** A run, the journal to look into first, and the number in its own journal before which it is wanted. */
type Wanted = { readonly runId: string; readonly near: string; readonly before?: number | undefined };

/** A run whose beginning is looked for, and the runs that were found in other journals on the way to it. */
type Started = {
  readonly start: StoredEvent & RunStart;
  readonly journalId: string;
  readonly crossed: readonly string[];
};

class History {
  readonly #store: HistoryStore;

  constructor(store: HistoryStore) {
    this.#store = store;
  }

  async messages(
    { runId, near, before = Number.POSITIVE_INFINITY }: Wanted,
    fold: Fold,
    crossed: readonly string[] = [],
  ): Promise<Message[]> {
    const { journalId, events } = await this.eventsOf(runId, near);
    const wanted = events.filter((event) => event.seq < before);
    const [start] = wanted;
    return start?.type === "run-start" ? fold(wanted, await this.#originMessages({ start, journalId, crossed })) : [];
  }

  /** The events of a run, and the journal that they are in. */
  async eventsOf(runId: string, near: string): Promise<{ journalId: string; events: readonly StoredEvent[] }> {
    const events = await this.#store.read(near, { runId });
    if (events.length > 0) return { journalId: near, events };
    const journalId = (await this.#store.run?.(runId))?.journalId ?? near;
    return { journalId, events: journalId === near ? events : await this.#store.read(journalId, { runId }) };
  }

  async #originMessages(started: Started): Promise<Message[]> {
    const { start, journalId, crossed } = started;
    const { origin } = start;
    if (origin === undefined) return [];
    if (origin.kind === "branch") return [...origin.history];
    const { runId } = origin;
    const earlier = await this.eventsOf(runId, journalId);
    const isHere = earlier.journalId === journalId;
    // Only what came before, and another journal once: a crafted store in which runs continue one another must not loop forever.
    if (!isHere && (crossed.includes(runId) || !(await this.#areOfOneTree(runId, start.runId)))) return [];
    const path = isHere ? crossed : [...crossed, runId];
    const near = earlier.journalId;
    const placedAt = earlier.events.find((event) => event.type === "placed" && event.childRunId === start.runId)?.seq;
    const startedAt = isHere ? start.seq : origin.kind === "fork" ? placedAt : undefined;
    if (origin.kind === "follow-up")
      return this.messages({ runId, near, before: startedAt }, continuedConversation, path);
    // It may have waited for its slot while its parent continued and pruned.
    const called = calledAt(earlier.events, start, startedAt);
    const then =
      called === undefined ? [] : await this.messages({ runId, near, before: called }, rebuildConversation, path);
    if (then.length === origin.messages) return then;
    const all = await this.messages({ runId, near, before: startedAt }, rebuildConversation, path);
    return all.slice(0, origin.messages);
  }

  async #areOfOneTree(...runIds: readonly string[]): Promise<boolean> {
    const roots = await Promise.all(runIds.map(async (runId) => (await this.#store.run?.(runId))?.rootId));
    return new Set(roots).size === 1;
  }
}

/** The number of the answer of the parent that called for this run. */
function calledAt(
  parent: readonly StoredEvent[],
  { call }: RunStart,
  before: number = Number.POSITIVE_INFINITY,
): number | undefined {
  const answer = parent.findLast(
    (event) =>
      event.type === "message-end" &&
      event.seq < before &&
      toolCallsOf(event.message).some(({ callId }) => callId === call?.callId),
  );
  return answer?.seq;
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
