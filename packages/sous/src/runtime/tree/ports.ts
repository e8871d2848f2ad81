/** Ties the knot: what the loop asks of its tree, each answered by the part that does it. */

import type { Run, TreePorts } from "../../core/run.ts";
import type { SpawnReply, SpawnRequest } from "../../core/spawn.ts";
import { traceWithin } from "../../core/trace-context.ts";
import { askForRun, tellBudgetWait } from "../model/ask-for-run.ts";
import type { AgentEntry } from "../subagents/agent-book.ts";
import { closeChildren, nextReport } from "../subagents/background-children.ts";
import { type ControlPorts, childControl } from "../subagents/child-control.ts";
import { askAtRoot, whileResting } from "./approval.ts";
import { continueChild, followUp, followUpProfile } from "./continue-child.ts";
import { endRun } from "./lifecycle.ts";
import { closeParked, closeParkedRun, park, parked } from "./park.ts";
import { spawn } from "./spawn.ts";
import type { TreeState } from "./state.ts";

export function portsOf(tree: TreeState): TreePorts {
  const { parts, book, earlierRuns } = tree;
  const { asking, settings, limits, rules } = parts;
  const { journal, clock } = asking;
  const { cwd, redactor, conversation, onExhausted, onLiveChildren } = settings;
  const control: ControlPorts = {
    book,
    revive: (parent, entry, message, callId) => followUpOrContinue(tree, parent, entry, message, callId),
    closeParked: (child, mode, callId) => closeParkedRun(tree, child, mode, callId),
    hasRevived: ({ who }, callId) => callId !== undefined && parts.earlier?.has(who.runId, callId) === true,
    whileResting,
    endText: parts.records.endText,
  };
  return {
    clock,
    cwd,
    redactor,
    rules,
    maxDepth: limits.maxDepth,
    conversation,
    onExhausted,
    onLiveChildren,
    emit(run, body) {
      run.beats += 1;
      journal.append(run.who, body);
    },
    show: (run, piece) => journal.delta(run.who, piece),
    get isWatched() {
      return journal.isWatched;
    },
    waitForBudget: (run, limit) => tellBudgetWait(run, limit, journal),
    settled: () => journal.settled(),
    ask: (run, options) => askForRun(run, options, asking),
    approve: (run, request) => askAtRoot(tree, run, request),
    givenAnswer: (_run, request) => parts.answers?.take(request),
    park: (run) => park(tree, run),
    parked: (run, outcome) => parked(tree, run, outcome),
    closeParked: (run) => closeParked(tree, run),
    spawn: (run, callId, request) => spawnOrContinue(tree, run, callId, request),
    childrenOf: (run, callId) => childControl(run, control, callId),
    backgroundCalls: (run) => earlierRuns?.backgroundCalls(run) ?? [],
    closeOrphans: (run) => earlierRuns?.closeOrphans(run),
    ended: (run, outcome) => endRun(tree, run, outcome),
    traceOf(run) {
      let root = run;
      while (root.parent !== undefined) root = root.parent;
      const ids = { runId: run.who.runId, rootRunId: root.who.runId, given: root.trace };
      return traceWithin(ids, settings.isSampled);
    },
    closeChildren: (run) => (hasChildren(run) ? closeChildren(run) : undefined),
    nextReport: async (run) => hasBackground(run) && (await whileResting(run, () => nextReport(run))),
  };
}

/** After a restart a call finds the child that it had made. */
function spawnOrContinue(tree: TreeState, parent: Run, callId: string, request: SpawnRequest): Promise<SpawnReply> {
  const { earlierRuns, parts } = tree;
  const earlier = earlierRuns?.tree.take(parent.who.runId, callId, request.index ?? 0); // guard: earlier-child
  if (earlierRuns === undefined || earlier === undefined) return spawn(tree, parent, callId, request);
  const profileOf = () => parts.profiles.child(parent.profile, request, earlier.state.start.path);
  return continueChild({ ...tree, earlierRuns }, parent, earlier, profileOf, request.options);
}

function followUpOrContinue(
  tree: TreeState,
  parent: Run,
  entry: AgentEntry,
  message: string,
  callId: string | undefined,
): Promise<SpawnReply> {
  const { earlierRuns } = tree;
  const earlier = callId === undefined ? undefined : earlierRuns?.tree.take(parent.who.runId, callId, 0);
  if (earlierRuns === undefined || earlier === undefined) return followUp(tree, parent, entry, message, callId);
  return continueChild({ ...tree, earlierRuns }, parent, earlier, () => followUpProfile(tree, parent, entry));
}

function hasBackground({ background }: Run): boolean {
  return background !== undefined && background.size > 0;
}

function hasChildren(run: Run): boolean {
  return hasBackground(run) || run.openChildren > 0;
}
