/** Ties the knot: what the loop asks of its tree, each answered by the part that does it. */

import type { ApprovalAnswer, ApprovalRequest, AskedCall, LateAnswer } from "../../core/approval.ts";
import type { PieceBody, StoredBody, ToolProgress } from "../../core/event.ts";
import type { LimitState } from "../../core/limits.ts";
import type { Fault, RunOutcome } from "../../core/outcome.ts";
import type { Run } from "../../core/run.ts";
import type { ChildControl, SpawnReply, SpawnRequest } from "../../core/spawn.ts";
import { type TraceContext, traceWithin } from "../../core/trace-context.ts";
import type { AskOptions, BilledAnswer, Journal, TreePorts } from "../../core/tree-ports.ts";
import { redactBody } from "../events/redact-event.ts";
import { askForRun, tellBudgetWait } from "../model/ask-for-run.ts";
import { AskedTargets } from "../rights/asked-targets.ts";
import type { AgentEntry } from "../subagents/agent-book.ts";
import { closeChildren, nextReport } from "../subagents/background-children.ts";
import { type ControlPorts, childControl } from "../subagents/child-control.ts";
import { missingChild } from "../subagents/missing-child.ts";
import { askAtRoot, whileResting } from "./approval.ts";
import { continueChild, continuePlaced, followUp, followUpProfile } from "./continue-child.ts";
import { endRun } from "./lifecycle.ts";
import { closeParked, closeParkedRun, park, parked } from "./park.ts";
import { spawn } from "./spawn.ts";
import type { TreeState } from "./state.ts";

/** A class, because V8 keeps what the getter of a literal refers to until the next major collection: whole trees that have ended. */
export class Ports implements TreePorts {
  readonly clock: TreePorts["clock"];
  readonly worker: TreePorts["worker"];
  readonly cwd: string;
  readonly redactor: TreePorts["redactor"];
  readonly questions: TreePorts["questions"];
  readonly rules: TreePorts["rules"];
  readonly maxDepth: number;
  readonly conversation: TreePorts["conversation"];
  readonly onExhausted: TreePorts["onExhausted"];
  readonly onLiveChildren: TreePorts["onLiveChildren"];
  readonly #tree: TreeState;
  readonly #journal: Journal;

  constructor(tree: TreeState) {
    const { asking, settings, limits, rules } = tree.parts;
    this.#tree = tree;
    this.#journal = asking.journal;
    this.clock = asking.clock;
    this.worker = tree.parts.worker;
    this.cwd = settings.cwd;
    this.redactor = settings.redactor;
    this.questions = new AskedTargets((asked) => redactBody(asked, settings.redactor) as AskedCall);
    this.rules = rules;
    this.maxDepth = limits.maxDepth;
    this.conversation = settings.conversation;
    this.onExhausted = settings.onExhausted;
    this.onLiveChildren = settings.onLiveChildren;
  }

  missingChild(run: Run): Fault | undefined {
    const { book, parts } = this.#tree;
    return run.parent === undefined ? missingChild(book, run.who.agentId, parts.settings.requireAll) : undefined;
  }

  emit(run: Run, body: StoredBody): void {
    run.beats += 1;
    this.#journal.append(run.who, body);
  }

  show(run: Run, piece: PieceBody | ToolProgress): void {
    this.#journal.delta(run.who, piece);
  }

  get isWatched(): boolean {
    return this.#journal.isWatched;
  }

  waitForBudget(run: Run, limit: LimitState): void {
    tellBudgetWait(run, limit, this.#journal);
  }

  settled(): Promise<void> | undefined {
    return this.#journal.settled();
  }

  ask(run: Run, options: AskOptions): Promise<BilledAnswer> {
    return askForRun(run, options, this.#tree.parts.asking);
  }

  approve(run: Run, request: ApprovalRequest): Promise<ApprovalAnswer> | undefined {
    return askAtRoot(this.#tree, run, request);
  }

  givenAnswer(_run: Run, request: ApprovalRequest): LateAnswer | undefined {
    return this.#tree.parts.answers?.take(request);
  }

  park(run: Run): Promise<void> {
    return park(this.#tree, run);
  }

  parked(run: Run, outcome: RunOutcome): void {
    parked(this.#tree, run, outcome);
  }

  closeParked(run: Run): void {
    closeParked(this.#tree, run);
  }

  spawn(run: Run, callId: string, request: SpawnRequest): Promise<SpawnReply> {
    return spawnOrContinue(this.#tree, run, callId, request);
  }

  childrenOf(run: Run, callId: string | undefined): ChildControl {
    return childControl(run, controlOf(this.#tree), callId);
  }

  backgroundCalls(run: Run): ReturnType<TreePorts["backgroundCalls"]> {
    return this.#tree.earlierRuns?.backgroundCalls(run) ?? [];
  }

  closeOrphans(run: Run): void {
    this.#tree.earlierRuns?.closeOrphans(run);
  }

  ended(run: Run, outcome: RunOutcome | undefined): void {
    endRun(this.#tree, run, outcome);
  }

  traceOf(run: Run): TraceContext | undefined {
    let root = run;
    while (root.parent !== undefined) root = root.parent;
    const ids = { runId: run.who.runId, rootRunId: root.who.runId, given: root.trace };
    return traceWithin(ids, this.#tree.parts.settings.isSampled);
  }

  closeChildren(run: Run): Promise<void> | undefined {
    return hasChildren(run) ? closeChildren(run) : undefined;
  }

  async nextReport(run: Run): Promise<boolean> {
    return hasBackground(run) && (await whileResting(run, () => nextReport(run)));
  }
}

function controlOf(tree: TreeState): ControlPorts {
  const { parts, book } = tree;
  return {
    book,
    revive: (parent, entry, message, callId) => followUpOrContinue(tree, parent, entry, message, callId),
    closeParked: (child, mode, callId) => closeParkedRun(tree, child, mode, callId),
    hasRevived: ({ who }, callId) => callId !== undefined && parts.earlier?.has(who.runId, callId) === true,
    whileResting,
    endText: parts.records.endText,
  };
}

/** After a restart a call finds the child that it had made. */
function spawnOrContinue(tree: TreeState, parent: Run, callId: string, request: SpawnRequest): Promise<SpawnReply> {
  const { earlierRuns, parts } = tree;
  const index = request.index ?? 0;
  const placed = earlierRuns?.tree.takePlaced(parent.who.runId, callId, index);
  if (placed !== undefined) return continuePlaced(tree, parent, placed, request);
  const earlier = earlierRuns?.tree.take(parent.who.runId, callId, index); // guard: earlier-child
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
