/** A child that runs again: it continues after a restart, or gets a further message when it has ended. */

import { Conversation } from "../../core/conversation.ts";
import { Refused } from "../../core/errors.ts";
import type { EventOf } from "../../core/event.ts";
import { userMessage } from "../../core/message.ts";
import type { Run, RunProfile } from "../../core/run.ts";
import { Scope } from "../../core/scope.ts";
import type { ChildControl, SpawnOptions, SpawnReply, SpawnRequest } from "../../core/spawn.ts";
import type { ToolContext } from "../../core/tool.ts";
import { noUsage } from "../../core/usage.ts";
import { type AgentEntry, childInfo } from "../subagents/agent-book.ts";
import { deliverReport } from "../subagents/background-children.ts";
import { checkDepth } from "../subagents/check-spawn.ts";
import { followUpOf, historyOf } from "./parts.ts";
import { asStarted, atMost } from "./restore/as-started.ts";
import type { EarlierRun } from "./restore/earlier-run.ts";
import type { EarlierRuns } from "./restore/earlier-runs.ts";
import type { ParentCall } from "./restore/earlier-tree.ts";
import { refuse, runChild, summaryFor } from "./spawn.ts";
import type { TreeState } from "./state.ts";

/** `profileOf` makes the profile as the call asked for it; it is only needed when the child had not ended. */
export async function continueChild(
  tree: TreeState & { readonly earlierRuns: EarlierRuns },
  parent: Run,
  earlier: EarlierRun,
  profileOf: () => RunProfile | Promise<RunProfile>,
  options: SpawnOptions = {},
): Promise<SpawnReply> {
  const { earlierRuns } = tree;
  const { state, runId } = earlier;
  const entry = earlierRuns.entryOf(earlier);
  if (state.end === undefined) {
    try {
      const profile = asStarted(await profileOf(), state.start);
      const { task, origin, call } = state.start;
      const conversation = await earlierRuns.conversationOf(earlier, profile);
      const summary = summaryFor(tree, parent, options);
      const scope = new Scope(parent.work);
      const plan = { entry, runId, parent, profile, task, conversation, origin, call, summary, scope, earlier };
      return await runChild(tree, plan, options);
    } catch (error) {
      // A child that had started has an end, also when it cannot continue.
      if (state.end !== undefined || earlierRuns.closeRefused(parent, earlier, error) === undefined) throw error;
    }
  }
  const report = earlierRuns.reportOf(parent, earlier);
  if (report === undefined) throw new Error(`${entry.path} has no report`);
  options.onEnd?.(report.outcome);
  if (options.background !== true) return { kind: "ended", report };
  deliverReport(parent, report);
  return { kind: "started", child: childInfo(entry) };
}

/** A child that was placed before the restart: its worker, or another one, continues it. Here it is waited for again. */
export async function continuePlaced(
  tree: TreeState,
  parent: Run,
  placed: EventOf<"placed">,
  request: SpawnRequest,
): Promise<SpawnReply> {
  const { childRunId, childPath, label, call } = placed;
  const entry = tree.book.get(placed.childAgentId);
  if (entry === undefined) throw new Error(`${childPath} is not in the tree`);
  try {
    const profile = await tree.parts.profiles.child(parent.profile, request, childPath);
    const task = userMessage(request.task);
    const conversation = new Conversation([task], profile.tools.bytes);
    const summary = summaryFor(tree, parent, request.options);
    const scope = new Scope(parent.work);
    const own = { entry, runId: childRunId, parent, profile, task, conversation, call, summary, scope };
    return await runChild(tree, { ...own, origin: undefined, earlier: undefined, place: "again" }, request.options);
  } catch (error) {
    return refuse(tree, error, parent, { label, path: childPath });
  }
}

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
  const { profiles, earlier } = parts;
  if (entry.profile !== undefined) return profiles.revived(entry.profile, parent.profile, entry.path);
  const call = earlier?.callOf(entry.agentId);
  const request = call && (await askedRequest(parent, call));
  if (request === undefined)
    throw new Refused(
      "invalid_input",
      `${entry.label} was started before a restart and cannot continue: start another`,
    );
  const had = earlier?.run(entry.lastRunId)?.state.start.rights;
  const profile = await profiles.child(parent.profile, request, entry.path);
  return had === undefined ? profile : atMost(profile, had);
}

/** Undefined when the tool is no longer there, or does more than start children. */
async function askedRequest(parent: Run, call: ParentCall): Promise<SpawnRequest | undefined> {
  const ready = parent.profile.tools.byName.get(call.toolName);
  if (ready?.tool.category !== "subagent") return undefined;
  const parsed = await ready.schema.parse(call.input);
  if (!parsed.ok) return undefined;
  let heard: SpawnRequest | undefined;
  const { who, tree } = parent;
  const listening: ToolContext = {
    ...{ callId: call.callId, runId: who.runId, agentId: who.agentId, ancestorIds: [], path: who.path },
    ...{ depth: who.depth, maxDepth: tree.maxDepth, cwd: tree.cwd, trace: undefined, children: NO_CHILDREN },
    signal: new AbortController().signal,
    rulesOn: () => undefined,
    async spawn(request) {
      if ((request.index ?? 0) === call.index) heard ??= request;
      return HEARD;
    },
    // A tool for children leaves nothing else behind.
    defer() {},
    progress() {},
  };
  await ready.tool.execute(parsed.value, listening);
  return heard;
}

/** A good ending, so that a tool that stops at the first failure asks for all it would ask for. */
const HEARD: SpawnReply = {
  kind: "ended",
  report: {
    ...{ agentId: "", runId: "", path: "", label: "", depth: 0, agentName: "", text: "" },
    ...{ truncation: undefined, isFetchable: false, toolLog: [], totalUsage: noUsage(), totalCostUsd: 0 },
    outcome: {
      ...{ status: "completed", stopReason: undefined, text: "", fault: undefined },
      ...{ turns: 0, toolCount: 0, usage: noUsage(), costUsd: 0, durationMs: 0 },
    },
  },
};

const NO_CHILDREN: ChildControl = {
  list: () => [],
  send: async () => HEARD,
  wait: async () => [],
  cancel: async () => undefined,
  report: async () => undefined,
};
