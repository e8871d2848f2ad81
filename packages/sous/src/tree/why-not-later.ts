/** Whether a run can stop and be resumed where it stands: the condition for an answer that comes later. */

import { toolCallsOf } from "../core/message.ts";
import type { Run } from "../core/run.ts";
import { FAN_OUT } from "../core/spawn.ts";
import type { TreeState } from "./state.ts";

/** Undefined when it can. */
export function whyNotLater(tree: TreeState, asking: Run): string | undefined {
  if (isLost(tree)) return "what happens in this run is no longer stored";
  for (let run: Run | undefined = asking; run !== undefined; run = run.parent) {
    const { path } = run.who;
    if (run.profile.model.outside !== undefined)
      return `${path} is an agent outside of this process, which cannot wait that long`;
    if (run.parent !== undefined && !isMadeAgain(run, run.parent))
      return `a restart does not continue ${path}, because the call that started it is not made again`;
  }
  return undefined;
}

/** True when events of the tree are no longer stored. */
export function isLost({ parts }: TreeState): boolean {
  return parts.asking.journal.degraded !== undefined;
}

/** True when `resume` makes the call again that this child was made by, and so finds the child. */
function isMadeAgain({ call }: Run, parent: Run): boolean {
  if (call === undefined) return false;
  if (call.callId === FAN_OUT) return true;
  for (const message of parent.conversation.messages.toReversed()) {
    if (message.role !== "assistant") continue;
    const made = toolCallsOf(message).find(({ callId }) => callId === call.callId);
    const tool = made && parent.profile.tools.byName.get(made.toolName)?.tool;
    if (tool !== undefined) return tool.category === "subagent" || (tool.effect !== "unsafe" && !call.background);
  }
  // The answer with the call was pruned: a child in the background is found by the journal.
  return call.background === true;
}
