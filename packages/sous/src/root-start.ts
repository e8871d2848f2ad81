/** What a run of the root begins with: its task alone, what was said before, or where it stood when its process ended. */

import { Conversation } from "./core/conversation.ts";
import type { AgentEntry } from "./subagents/agent-book.ts";
import type { Tree } from "./tree.ts";
import type { RootStart, Start } from "./tree-parts.ts";

export async function rootStart(
  tree: Pick<Tree, "earlierRuns" | "history">,
  entry: AgentEntry,
  { runId, task, scope, origin, earlier, summarizes }: RootStart,
): Promise<Start> {
  const { profile } = entry;
  if (profile === undefined) throw new Error("The root has no profile");
  const own = { entry, runId, parent: undefined, profile, call: undefined, summary: undefined, scope, earlier };
  if (earlier !== undefined && tree.earlierRuns !== undefined) {
    const { start } = earlier.state;
    const conversation = await tree.earlierRuns.conversationOf(earlier, profile);
    return { ...own, task: start.task, conversation, origin: start.origin };
  }
  const isFirst = runId === entry.agentId;
  const from = origin ?? (isFirst ? undefined : { kind: "follow-up", runId: entry.lastRunId });
  const history = from?.kind === "branch" ? from.history : isFirst ? [] : await tree.history(entry.lastRunId);
  const conversation = new Conversation([...history, task], profile.tools.bytes);
  return { ...own, task, conversation, origin: from, summarizes };
}
