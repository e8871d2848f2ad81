/** Keeps a conversation within its token budget: the oldest turns go, the task and the last turns stay. */

import type { ConversationLimits } from "../core/conversation.ts";
import type { Message } from "../core/message.ts";
import type { Run } from "../core/run.ts";

export function pruneIfFull(run: Run): void {
  const limits = run.tree.conversation;
  if (run.conversation.promptTokens <= limits.maxTokens * limits.pruneThreshold) return;
  drop(run, droppable(run.conversation.messages, limits.minRetainTurns));
}

/** Keeps only the task and the last turn; false when there is nothing more to drop. */
export function pruneHard(run: Run): boolean {
  const count = droppable(run.conversation.messages, 1);
  drop(run, count);
  return count > 0;
}

/**
 * How many messages after the first may go. A turn begins with an assistant message and owns what follows it, so a call is
 * never parted from its result; the first message is the task and never goes.
 */
export function droppable(messages: readonly Message[], retainTurns: ConversationLimits["minRetainTurns"]): number {
  let turns = 0;
  for (let index = messages.length - 1; index >= 1; index--) {
    if (messages[index]?.role !== "assistant") continue;
    turns += 1;
    if (turns >= Math.max(1, retainTurns)) return index - 1;
  }
  return 0;
}

function drop(run: Run, count: number): void {
  if (count <= 0) return;
  const { messages } = run.conversation;
  const tokensBefore = run.conversation.promptTokens;
  run.conversation.replace([...messages.slice(0, 1), ...messages.slice(1 + count)], run.profile.tools.bytes);
  run.emit({ type: "prune", dropped: count, tokensBefore, tokensAfter: run.conversation.promptTokens });
}
