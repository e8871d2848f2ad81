/** One execution of an agent: what it was started with, what it has done so far, and the tree it belongs to. */

import type { AgentDefinition } from "./agent.ts";
import type { Hooks } from "./approval.ts";
import type { Deadline } from "./clock.ts";
import type { Conversation } from "./conversation.ts";
import type { PlacedRun } from "./engine.ts";
import type { NoticeReason, RunIdentity, StoredBody } from "./event.ts";
import type { Account, Budget, Holding, Lease, RunSlot } from "./limits.ts";
import type { Model, ModelSettings } from "./model.ts";
import type { RunOutcome } from "./outcome.ts";
import type { Rights, StoredRights } from "./rights.ts";
import type { RunCall } from "./run-start.ts";
import type { Schema } from "./schema.ts";
import { Cancelled, Scope } from "./scope.ts";
import type { ChildReport, SummaryMode } from "./spawn.ts";
import type { CleanUp, Tool } from "./tool.ts";
import type { ToolLogEntry } from "./tool-log.ts";
import type { ToolSet } from "./tool-set.ts";
import type { TraceContext } from "./trace-context.ts";
import type { TreePorts } from "./tree-ports.ts";
import { addCost, addUsage, noUsage, type Price, type Usage } from "./usage.ts";

/** Everything about a run but its task: shared by all runs of one definition under the same rights. */
export type RunProfile = {
  readonly agentName: string;
  readonly nickname: string | undefined;
  readonly instructions: string | undefined;
  /** Follow the instructions in every prompt. */
  readonly notes: string | undefined;
  readonly model: Model;
  /**
   * The provider of which its calls may name models: that of the model which the root or a definition was given. A model
   * that a call has named, or that was inherited, changes nothing about it. Undefined when no name leads to the model.
   */
  readonly provider: string | undefined;
  readonly price: Price | undefined;
  readonly contextWindow: number | undefined;
  readonly tools: ToolSet;
  readonly rights: Rights;
  readonly storedRights: StoredRights;
  /** The implementations of what it may pass on, by name. */
  readonly catalog: ReadonlyMap<string, Tool>;
  readonly subagents: readonly AgentDefinition[];
  readonly delegate: boolean;
  readonly depth: number;
  readonly maxTurns: number;
  readonly timeoutMs: number | undefined;
  /** The settings of every ordinary call. */
  readonly settings: ModelSettings;
  readonly output: Schema | undefined;
  /** Stands behind the task: the shape of the answer that a call asks of an agent whose instructions it may not change. */
  readonly taskEnd?: string | undefined;
  readonly hooks: Hooks | undefined;
  /** The rules of its definition; they bind everything below it too. */
  readonly rules?: TreePorts["rules"];
  /** The share of what is left, when the definition gives it one. */
  readonly budget: Budget | undefined;
  /** The definition names no tools: it has those that its parent passes on. */
  readonly inheritsTools?: true | undefined;
  /** The definition asks for a worker. */
  readonly place?: "worker" | undefined;
};

/** The request for a summary that a child gets when its task is done; a root has none. */
export type SummaryPlan = {
  readonly mode: SummaryMode;
  readonly prompt: string | undefined;
  readonly maxBytes: number;
};

/** Something that waits to be read by the model before its next turn. */
export type Incoming =
  | { kind: "steer"; text: string; callId?: string | undefined; mail?: number | undefined }
  | { kind: "report"; report: ChildReport; text: string }
  | { kind: "notice"; reason: NoticeReason; text: string };

/** A child that runs in the background; its report is delivered once. */
export type BackgroundChild = { run: Run; ended: Promise<ChildReport>; isDelivered: boolean };

type RunParts = Pick<
  Run,
  "who" | "parent" | "task" | "profile" | "scope" | "tree" | "account" | "conversation" | "summary"
>;

export class Run {
  readonly parent: Run | undefined;
  /** The text of its task, word for word. */
  readonly task: string;
  readonly who: RunIdentity;
  readonly profile: RunProfile;
  readonly scope: Scope;
  readonly tree: TreePorts;
  readonly account: Account;
  readonly conversation: Conversation;
  readonly summary: SummaryPlan | undefined;

  turns = 0;
  /** The number of the last turn whose start is recorded. */
  recordedTurns = 0;
  toolCount = 0;
  readonly usage: Usage = noUsage();
  costUsd: number | null = 0;
  /** Everything below this run; undefined while nothing below it has ended. */
  usageBelow: Usage | undefined;
  costBelowUsd: number | null = 0;
  /** The last text of this run; partial while it speaks. */
  text = "";
  /** The beginning of an answer that was cut at the output limit and continues in the next turn. */
  cutText = "";
  /** Answers without text or calls, since the last call. */
  emptyAnswers = 0;
  /** The time at work in earlier processes. */
  usedMs = 0;
  /** Undefined until a message or the report of a background child arrives. */
  inbox: Incoming[] | undefined;
  /** Called when a message arrives while the run only waits for its children. */
  onIncoming: (() => void) | undefined;
  /** Set when it should give its last words and end. */
  isWrappingUp = false;
  /** An action of this run or of one below it needed an approval, and there was no person to ask. */
  lacksApproval = false;
  /** The trace that a root was started in. */
  trace: TraceContext | undefined;
  /** The part of its account that the run holds; undefined before its start. */
  holding: Holding | undefined;
  /** The reservation of its first call, made together with its start for a prompt of this size. */
  firstCall: { readonly lease: Lease; readonly promptTokens: number } | undefined;
  /** True when its start had to wait. */
  waitedToStart = false;
  /** The budget is spent: the last words are to be short. */
  isExhausted = false;
  /** The model has answered it at least once: from then on it may wrap up. */
  hasAnswered = false;
  /** Ended at once when the run has ended or will never start, before anything it holds is given back. */
  waits: Disposable[] | undefined;
  slot: RunSlot | undefined;
  deadline: Deadline | undefined;
  /** Children that run beside it, by agent id. */
  background: Map<string, BackgroundChild> | undefined;
  /** Other children that are alive: its tools wait for them, or have left them behind. */
  openChildren = 0;
  /** Called when the last of these is gone. */
  onChildless: (() => void) | undefined;
  /** Clean-ups of its tools, for its end. */
  cleanUps: CleanUp[] | undefined;
  /** The clean-ups have run or are running: a later one runs at once. */
  isCleanedUp = false;
  /** Set when the caller wants to know what its tools did. */
  toolLog: ToolLogEntry[] | undefined;
  /** Called at its end, before its slot is free for another run. */
  onEnd: ((outcome: RunOutcome) => void) | undefined;
  /** The error that made it fail: the caller of a root gets it whole, an event holds only its text. */
  cause: unknown;
  /** Grows with every sign of life. */
  beats = 0;
  /** The work of the run now, for people. */
  waitingFor = "its first turn";
  /** Calls about which a person was asked, before a restart or until later, and which have no answer. */
  openQuestions: Set<string> | undefined;
  parkedCalls: Set<string> | undefined;
  /** It has stopped without an end, and is resumed from the store. */
  isParked = false;
  /** It works in a journal of its own, on a worker: here it only waits for its end. */
  placed: PlacedRun | undefined;
  /** The call of its parent that made it. */
  call: RunCall | undefined;
  /** Ids of tool calls seen so far, so that none is used twice. */
  readonly callIds = new Set<string>();
  #work: Scope | undefined;

  constructor(start: RunParts) {
    this.parent = start.parent;
    this.task = start.task;
    this.who = start.who;
    this.profile = start.profile;
    this.scope = start.scope;
    this.tree = start.tree;
    this.account = start.account;
    this.conversation = start.conversation;
    this.summary = start.summary;
  }

  emit(body: StoredBody): void {
    this.tree.emit(this, body);
  }

  bill(usage: Readonly<Usage>, costUsd: number | null): void {
    addUsage(this.usage, usage);
    this.costUsd = addCost(this.costUsd, costUsd);
  }

  /** Adds what a finished child and everything below it took. */
  billBelow(usage: Readonly<Usage>, costUsd: number | null): void {
    this.usageBelow ??= noUsage();
    addUsage(this.usageBelow, usage);
    this.costBelowUsd = addCost(this.costBelowUsd, costUsd);
  }

  /** The call has no result before an answer has come: its own, or one to a run below. */
  parkCall(callId: string): void {
    this.parkedCalls = (this.parkedCalls ?? new Set()).add(callId);
  }

  /** The runs that wait for its end move again. */
  endWaits(): void {
    for (const wait of this.waits ?? []) wait[Symbol.dispose]();
    this.waits = undefined;
  }

  receive(incoming: Incoming): void {
    if (this.placed !== undefined) {
      if (incoming.kind === "steer") this.placed.steer(this.who.path, incoming.text, incoming.callId);
      return;
    }
    this.inbox ??= [];
    this.inbox.push(incoming);
    this.onIncoming?.();
  }

  /** The scope of its tools and its children: aborts with the run, or before it when only last words are left. */
  get work(): Scope {
    this.#work ??= new Scope(this.scope);
    return this.#work;
  }

  /** Lets the run end with its last words after the current turn. */
  wrapUp(): void {
    this.isWrappingUp = true;
    this.onIncoming?.();
  }

  /** Stops its tools and children now; then the run ends with its last words. */
  stopWork(): void {
    this.isWrappingUp = true;
    this.work.abort(new Cancelled(this.parent === undefined ? "The run was cancelled" : "Subagent cancelled"));
    this.onIncoming?.();
  }

  /** This run and everything below it. */
  total(): { usage: Usage; costUsd: number | null } {
    const usage = { ...this.usage };
    if (this.usageBelow !== undefined) addUsage(usage, this.usageBelow);
    return { usage, costUsd: addCost(this.costUsd, this.costBelowUsd) };
  }
}
