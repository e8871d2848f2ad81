/** Makes, starts and ends a run. Knows nothing of how a run is asked for or paid. */

import type { Conversation } from "../../core/conversation.ts";
import { textOf, type UserMessage } from "../../core/message.ts";
import type { RunOutcome } from "../../core/outcome.ts";
import { Run, type RunProfile, type SummaryPlan } from "../../core/run.ts";
import type { RunCall, RunOrigin, RunStart } from "../../core/run-start.ts";
import { Cancelled, type Scope } from "../../core/scope.ts";
import type { RunTools } from "../../core/tool-set.ts";
import { continuedTrace } from "../../core/trace-context.ts";
import type { TreePorts } from "../../core/tree-ports.ts";
import { toStored } from "../../core/units.ts";
import { setDeadline } from "../budget/deadlines.ts";
import { resumeRun } from "../loop/resume-run.ts";
import { runAgent } from "../loop/run-agent.ts";
import { runExternal } from "../loop/run-external.ts";
import { tellHook } from "../loop/run-hooks.ts";
import { reserveFor } from "../model/call-need.ts";
import type { AgentEntry } from "../subagents/agent-book.ts";
import { termsOf } from "./parts.ts";
import type { EarlierRun } from "./restore/earlier-run.ts";
import type { TreeState } from "./state.ts";

export type RunPlan = {
  /** The agent: path, label, account and budget are the same in all runs of one agent. */
  readonly entry: AgentEntry;
  readonly runId: string;
  readonly parent: Run | undefined;
  readonly profile: RunProfile;
  readonly task: UserMessage;
  /** The messages its model reads first: the earlier history, if there is one, and the task. */
  readonly conversation: Conversation;
  readonly origin: RunOrigin | undefined;
  /** The call of its parent that asked for it. */
  readonly call: RunCall | undefined;
  /** The way it sums up for its parent; a root does not. */
  readonly summary: SummaryPlan | undefined;
  /** It sums up its own conversation, which continues from its answer alone. */
  readonly summarizes?: boolean | undefined;
  readonly scope: Scope;
  /** The run that it continues after a restart. */
  readonly earlier: EarlierRun | undefined;
};

export type ChildPlan = RunPlan & {
  readonly parent: Run;
  /** It works in a journal of its own. `again`: it was placed before a restart. */
  readonly place?: "now" | "again" | undefined;
};

/** The work of a run in place of the agent loop, such as holding a fan-out together. */
export type Work = Parameters<typeof runAgent>[1];

/** A run that has not started. */
export function makeRun(tree: TreeState, plan: RunPlan, ports: TreePorts): Run {
  const { entry, runId, parent, profile, task, conversation, summary, scope, earlier } = plan;
  const { agentId, path, depth, account } = entry;
  const parentId = parent === undefined ? (earlier?.state.start.parentId ?? null) : parent.who.runId;
  const who = { runId, agentId, parentId, path, depth };
  const about = { who, parent, task: textOf(task), profile, conversation, summary };
  const run = new Run({ ...about, scope, tree: ports, account });
  run.call = plan.call;
  for (const message of conversation.messages) {
    if (message.role !== "assistant") continue;
    for (const part of message.content) if (part.type === "tool-call") run.callIds.add(part.callId);
  }
  if (earlier !== undefined) tree.earlierRuns?.countEarlier(run, earlier);
  if (parent === undefined) {
    const now = tree.parts.settings.trace();
    run.trace = earlier === undefined ? now : continuedTrace(earlier.state.start.traceparent, now);
  }
  return run;
}

/** Records the start and runs the agent to its end. */
export function startRun(tree: TreeState, run: Run, plan: RunPlan, given?: Work): Promise<RunOutcome> {
  const { entry, earlier } = plan;
  const work = given ?? externalWork(run, plan);
  const { parts, book, listeners } = tree;
  const { hooks, timeoutMs } = run.profile;
  const limit = { timeoutMs, durationMs: entry.budget?.durationMs, usedMs: entry.durationMs };
  run.deadline = setDeadline(run, limit, parts.spending.deadlines, parts.asking.clock);
  book.started(entry, run);
  if (hooks?.onEvent !== undefined) listeners.add(run.who.runId, hooks.onEvent);
  if (earlier !== undefined) {
    if (run.hasAnswered) run.holding?.keep(reserveFor(run, run.conversation.promptTokens));
    return runAgent(run, (each) => resumeRun(each, earlier.state, work));
  }
  recordStart(tree, run, plan);
  return runAgent(run, work);
}

/** The work of a run whose agent is external. */
function externalWork({ profile }: Run, { entry, earlier }: RunPlan): Work {
  const { external } = profile.model;
  if (external === undefined) return undefined;
  return (run) =>
    runExternal(run, {
      agent: external,
      sessionId: entry.sessionId,
      earlier: earlier?.state,
      share: entry.budget,
      onSession: (sessionId) => {
        entry.sessionId = sessionId;
      },
    });
}

function recordStart(tree: TreeState, run: Run, plan: RunPlan): void {
  const { parts, shownTools } = tree;
  const { profile } = run;
  const isRoot = run.parent === undefined;
  const ofJournal = isRoot
    ? { terms: termsOf(parts, profile), cwd: parts.settings.folder, traceparent: run.trace?.traceparent }
    : undefined;
  run.emit(startOf(run, plan, shownTools.describe(profile.tools), ofJournal));
  // A root may be told to stop before it has begun.
  if (isRoot && run.scope.reason instanceof Cancelled) run.emit({ type: "cancel", mode: "stop" });
}

/** The part of its start that the first run of a journal says for all of it. */
type JournalStart = Pick<RunStart, "terms" | "cwd" | "traceparent" | "placed">;

export function startOf(run: Run, plan: RunPlan, tools: RunTools, ofJournal?: JournalStart): RunStart {
  const { entry, task, origin, call, summary, summarizes } = plan;
  const { profile } = run;
  return {
    type: "run-start",
    agent: profile.agentName,
    nickname: profile.nickname,
    label: entry.label,
    task,
    model: profile.model.id,
    price: profile.price,
    contextWindow: Number.isFinite(profile.contextWindow) ? profile.contextWindow : undefined,
    tools,
    outputSchema: profile.output?.jsonSchema,
    instructions: profile.instructions,
    notes: profile.notes,
    maxTurns: profile.maxTurns,
    rights: profile.storedRights,
    origin,
    call,
    summaryPrompt: summary?.prompt,
    ...(summarizes === true && { summarizes }),
    timeoutMs: profile.timeoutMs,
    budget: entry.budget && toStored(entry.budget),
    terms: ofJournal?.terms,
    cwd: ofJournal?.cwd,
    ...(ofJournal?.traceparent !== undefined && { traceparent: ofJournal.traceparent }),
    ...(ofJournal?.placed !== undefined && { placed: ofJournal.placed }),
  };
}

/** Without an outcome the runtime itself has failed. */
export function endRun({ parts, book }: TreeState, run: Run, outcome: RunOutcome | undefined): void {
  run.endWaits();
  if (run.parent !== undefined) parts.spending.childTime.end();
  book.ended(run, outcome);
  if (outcome?.fault !== undefined) void tellHook(run, outcome.fault.message);
  if (outcome !== undefined) run.onEnd?.(outcome);
  release(run);
}

/** The run has stopped without an end: what it used counts, and it holds nothing. */
export function parkRun({ parts, book }: TreeState, run: Run, outcome: RunOutcome): void {
  run.endWaits();
  if (run.parent !== undefined) parts.spending.childTime.end();
  book.parked(run, outcome);
  release(run);
}

/** Removes a run that never started. */
export function discardRun({ book }: TreeState, run: Run, { entry, origin, earlier }: RunPlan): void {
  run.endWaits();
  release(run);
  entry.run = undefined;
  if (origin?.kind !== "follow-up" && earlier === undefined) book.remove(entry);
}

/** Gives back everything that the run holds. */
function release(run: Run): void {
  run.deadline?.[Symbol.dispose]();
  run.firstCall?.lease[Symbol.dispose]();
  run.firstCall = undefined;
  run.slot?.[Symbol.dispose]();
  run.slot = undefined;
  run.holding?.[Symbol.dispose]();
  run.scope[Symbol.dispose]();
}

/** The agent of a run in this tree. */
export function entryOf({ book }: TreeState, { who }: Run): AgentEntry {
  const entry = book.get(who.agentId);
  if (entry === undefined) throw new Error(`${who.path} is not in the tree`);
  return entry;
}
