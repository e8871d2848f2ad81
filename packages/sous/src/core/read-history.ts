/** The conversations of the runs of a stored tree, with what follow-ups and forks began with. */

import type { RunStart, StoredEvent } from "./event.ts";
import { type Message, toolCallsOf } from "./message.ts";
import { continuedConversation, rebuildConversation } from "./rebuild-conversation.ts";
import type { Store } from "./store.ts";

export type StoredHistory = {
  /** The messages of a run, as they stood before the event `before`. */
  messages(runId: string, before?: number): Promise<Message[]>;
  /** What a run that follows this one begins with: its messages, or only the summary that it was asked for. */
  continuation(runId: string, before?: number): Promise<Message[]>;
  /** The text a run ended with; undefined when it has not ended. */
  endText(runId: string): Promise<string | undefined>;
};

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
