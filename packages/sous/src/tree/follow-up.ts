/** A further message to a child that has ended: a new run under the same path, with the rights its parent can pass on now. */

import { Conversation } from "../core/conversation.ts";
import { Refused } from "../core/errors.ts";
import { userMessage } from "../core/message.ts";
import type { Run, RunProfile } from "../core/run.ts";
import { Scope } from "../core/scope.ts";
import type { SpawnReply } from "../core/spawn.ts";
import type { AgentEntry } from "../subagents/agent-book.ts";
import { checkDepth } from "../subagents/check-spawn.ts";
import { followUpOf, historyOf } from "./parts.ts";
import { askedRequest } from "./restore/asked-request.ts";
import { atMost } from "./restore/earlier-runs.ts";
import { refuse, runChild } from "./spawn.ts";
import type { TreeState } from "./state.ts";

/** Without a `callId` the message comes from a program outside of the tree, and the parent does not wait. */
export async function followUp(
  tree: TreeState,
  parent: Run,
  entry: AgentEntry,
  message: string,
  callId: string | undefined,
): Promise<SpawnReply> {
  const { limits, records } = tree.parts;
  const { label, path, status, lastRunId } = entry;
  // Alive from now on: a second message is for this run, not for another one beside it.
  entry.status = "running";
  try {
    checkDepth(entry.depth, limits.maxDepth);
    const history = await historyOf(tree.parts, lastRunId);
    const profile = await followUpProfile(tree, parent, entry);
    const task = userMessage(message);
    const plan = {
      entry,
      runId: records.newId(),
      parent,
      profile,
      task,
      conversation: new Conversation([...history, task], profile.tools.bytes),
      origin: followUpOf(tree.parts, lastRunId),
      call: callId === undefined ? undefined : { callId, index: 0 },
      // A program gets the whole answer, as from `run`.
      summary:
        callId === undefined ? undefined : { mode: limits.summary, prompt: undefined, maxBytes: limits.outputMaxSize },
      scope: new Scope(parent.work),
      earlier: undefined,
    } as const;
    return await runChild(tree, plan, {}, callId === undefined ? "outside" : "parent");
  } catch (error) {
    return refuse(tree, error, parent, { label, path });
  } finally {
    if (entry.status === "running") entry.status = status;
  }
}

/** An agent that has not run since a restart is known by the call that made it. */
export async function followUpProfile({ parts }: TreeState, parent: Run, entry: AgentEntry): Promise<RunProfile> {
  const { profiles, recorded } = parts;
  if (entry.profile !== undefined) return profiles.revived(entry.profile, parent.profile, entry.path);
  const call = recorded?.callOf(entry.agentId);
  const request = call && (await askedRequest(parent, call));
  if (request === undefined)
    throw new Refused(
      "invalid_input",
      `${entry.label} was started before a restart and cannot continue: start another`,
    );
  const had = recorded?.run(entry.lastRunId)?.state.start.rights;
  const profile = await profiles.child(parent.profile, request, entry.path);
  return had === undefined ? profile : atMost(profile, had);
}
