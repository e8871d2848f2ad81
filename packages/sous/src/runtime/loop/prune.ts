/** Holds a conversation within its token limit: drops the oldest turns, but not the tasks and the last turns. */

import type { ConversationLimits } from "../../core/conversation.ts";
import type { Message } from "../../core/message.ts";
import type { Run } from "../../core/run.ts";

export function pruneIfFull(run: Run): void {
  const { maxTokens, pruneThreshold, minRetainTurns } = run.tree.conversation;
  // Never more than the model can read.
  const room = Math.min(maxTokens, run.profile.contextWindow ?? maxTokens);
  if (run.conversation.promptTokens <= room * pruneThreshold) return;
  drop(run, droppable(run.conversation.messages, minRetainTurns));
}

/** Drops everything but the task and the last turn; false when there is nothing to drop. */
export function pruneHard(run: Run): boolean {
  return drop(run, droppable(run.conversation.messages, 1));
}

/**
 * Drops the last calls with their results, so that the reserve pays for the last words. False when the last answer made no
 * calls.
 */
export function dropLastCalls(run: Run): boolean {
  const { conversation } = run;
  const from = conversation.messages.findLastIndex(({ role }) => role === "assistant");
  if (from < 1 || conversation.messages[from + 1]?.role !== "tool") return false;
  const tokensBefore = conversation.promptTokens;
  conversation.dropCalls(from);
  run.emit({ type: "prune", from, dropped: 2, tokensBefore, tokensAfter: conversation.promptTokens });
  return true;
}

/**
 * Counts the messages after the first that may go. A turn begins with an assistant message and owns what follows it, so a call is
 * never parted from its result; the first message never goes.
 */
function droppable(messages: readonly Message[], retainTurns: ConversationLimits["minRetainTurns"]): number {
  let turns = 0;
  for (let index = messages.length - 1; index >= 1; index--) {
    if (messages[index]?.role !== "assistant") continue;
    turns += 1;
    if (turns >= Math.max(1, retainTurns)) return index - 1;
  }
  return 0;
}

/** A follow-up or a fork has its own task somewhere in the middle, and that stays too. False when nothing went. */
function drop(run: Run, count: number): boolean {
  const { taskIndex } = run.conversation;
  const end = 1 + count;
  if (taskIndex === 0 || taskIndex >= end) return dropBetween(run, 1, end);
  const after = dropBetween(run, taskIndex + 1, end);
  return dropBetween(run, 1, taskIndex) || after;
}

function dropBetween(run: Run, from: number, end: number): boolean {
  const dropped = end - from;
  if (dropped <= 0) return false;
  const { conversation } = run;
  const tokensBefore = conversation.promptTokens;
  conversation.replace(conversation.messages.toSpliced(from, dropped), run.profile.tools.bytes);
  if (conversation.taskIndex >= end) conversation.taskIndex -= dropped;
  run.emit({ type: "prune", from, dropped, tokensBefore, tokensAfter: conversation.promptTokens });
  return true;
}
