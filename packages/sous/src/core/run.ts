/** One execution of an agent: what it was started with, what it has done so far, and the tree it belongs to. */

import type { AgentDefinition } from "./agent.ts";
import type { ApprovalAnswer, ApprovalRequest, Consent } from "./approval.ts";
import type { Clock, Deadline } from "./clock.ts";
import type { Conversation, ConversationLimits } from "./conversation.ts";
import type { NoticeReason, RunIdentity, StoredBody } from "./event.ts";
import type { Hooks } from "./hooks.ts";
import type { Account, Budget, Holding, Lease, OnExhausted, RunSlot } from "./limits.ts";
import type { AssistantMessage } from "./message.ts";
import type { FinishReason, Model, ModelSettings, ToolDefinition } from "./model.ts";
import type { RunOutcome } from "./outcome.ts";
import type { Redactor } from "./redact.ts";
import type { Rights, StoredRights } from "./rights.ts";
import type { Schema } from "./schema.ts";
import { Scope } from "./scope.ts";
import type { ChildControl, ChildReport, SpawnReply, SpawnRequest, SummaryMode } from "./spawn.ts";
import type { CleanUp, Tool } from "./tool.ts";
import type { ToolLog } from "./tool-log.ts";
import { addCost, addUsage, noUsage, type Price, type Usage } from "./usage.ts";
import { UsedIds } from "./used-ids.ts";

/** A tool ready for dispatch: its schema compiled. */
export type ReadyTool = { readonly tool: Tool; readonly schema: Schema; readonly definition: ToolDefinition };

/** The tools of a run, shared by all runs with the same definition and rights. */
export type ToolSet = {
  readonly byName: ReadonlyMap<string, ReadyTool>;
  /** What the model is shown; the same array in every call. */
  readonly definitions: readonly ToolDefinition[];
  /** Bytes of the definitions and the instructions, for estimates. */
  readonly bytes: number;
  /** Subagent tools that are missing only because the run is at the deepest level. */
  readonly isDeepest: boolean;
};

/** What a run is, apart from its task: shared by all runs of one definition under the same rights. */
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
  /** Where the implementations of what it may pass on are found. */
  readonly catalog: ReadonlyMap<string, Tool>;
  readonly subagents: readonly AgentDefinition[];
  readonly delegate: boolean;
  readonly depth: number;
  readonly maxTurns: number;
  readonly timeoutMs: number | undefined;
  /** What every ordinary call of it asks for. */
  readonly settings: ModelSettings;
  readonly output: Schema | undefined;
  readonly hooks: Hooks | undefined;
  /** Its share of what is left, when the definition gives it one. */
  readonly budget: Budget | undefined;
};

/** Asked of a child when its task is done; a root has none. */
export type SummaryPlan = {
  readonly mode: SummaryMode;
  readonly prompt: string | undefined;
  readonly maxBytes: number;
};

/** Something that waits to be read by the model before its next turn. */
export type Incoming =
  | { kind: "steer"; text: string }
  | { kind: "report"; report: ChildReport; text: string }
  | { kind: "notice"; reason: NoticeReason; text: string };

/** An answer with its bill. */
export type BilledAnswer = { message: AssistantMessage; finish: FinishReason; usage: Usage; costUsd: number | null };

/** How one turn asks: a closing turn may not call tools and may spend the reserve for last words. */
export type AskOptions = { closing: boolean; jsonOutput: boolean };

/** What the tree offers its runs. One object for the whole tree, so a run carries no closures of its own. */
export type TreePorts = {
  readonly clock: Clock;
  readonly cwd: string;
  /** Takes secrets out of what a tool or a child says, before it is cut, kept or read by a model. */
  readonly redactor: Redactor;
  /** Every call is put to them, also one whose tool runs freely. */
  readonly rules: Pick<Consent, "decide"> | undefined;
  readonly maxDepth: number;
  readonly conversation: ConversationLimits;
  readonly onExhausted: OnExhausted;
  readonly onLiveChildren: "wait" | "cancel";
  emit(run: Run, body: StoredBody): void;
  /** Undefined when everything recorded so far is kept. Awaited before every outside effect. */
  settled(): Promise<void> | undefined;
  /** One question with budget, slot and retries; records its `turn-start`. */
  ask(run: Run, options: AskOptions): Promise<BilledAnswer>;
  /** Asks the person at the root; undefined when nobody is there. Clocks stop meanwhile. */
  approve(run: Run, request: ApprovalRequest): Promise<ApprovalAnswer> | undefined;
  spawn(run: Run, callId: string, request: SpawnRequest): Promise<SpawnReply>;
  /** `callId` is the call that uses it. */
  childrenOf(run: Run, callId: string): ChildControl;
  /** Calls of a run that goes on after a restart: each left a child in the background that has not reported. */
  backgroundCalls(run: Run): { callId: string; toolName: string; input: unknown }[];
  /** Ends the children of before a restart that nobody asked for again; undefined when there are none. */
  closeOrphans(run: Run): void;
  /** Gives back whatever the run holds; without an outcome the runtime itself has failed. */
  ended(run: Run, outcome: RunOutcome | undefined): void;
  /** Stops the children that are still alive and waits for them; undefined when there are none. */
  closeChildren(run: Run): Promise<void> | undefined;
  /** Waits until a background child of the run has reported; false when none is alive. */
  nextReport(run: Run): Promise<boolean>;
};

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
  toolCount = 0;
  readonly usage: Usage = noUsage();
  costUsd: number | null = 0;
  /** Everything below this run; undefined while nothing below it has ended. */
  usageBelow: Usage | undefined;
  costBelowUsd: number | null = 0;
  /** What this run has said last; partial while it speaks. */
  text = "";
  /** The beginning of an answer that was cut at the output limit and goes on in the next turn. */
  cutText = "";
  /** How long it ran in processes that are no more. */
  usedMs = 0;
  /** Undefined until somebody steers it or a background child reports. */
  inbox: Incoming[] | undefined;
  /** Called when something arrives while the run does nothing but wait for its children. */
  onIncoming: (() => void) | undefined;
  /** Set when it should say what it has and end. */
  isWrappingUp = false;
  /** Somewhere at or below this run an action needed consent and nobody was there. */
  lacksConsent = false;
  /** What it holds of its account; undefined before its start. */
  holding: Holding | undefined;
  /** The reservation of its first call, made together with its start for a prompt of this size. */
  firstCall: { readonly lease: Lease; readonly promptTokens: number } | undefined;
  /** It could not start in the moment it was asked for. */
  waitedToStart = false;
  /** Its budget is spent: its last words are to be short. */
  isExhausted = false;
  /** The model has answered it at least once: from then on it may wrap up. */
  hasAnswered = false;
  /** Ended at once when the run has ended or will never start, before anything it holds is given back. */
  waits: Disposable[] | undefined;
  slot: RunSlot | undefined;
  deadline: Deadline | undefined;
  /** Children that run while it goes on, by agent id. */
  background: Map<string, BackgroundChild> | undefined;
  /** Other children that are alive: its tools wait for them, or have left them behind. */
  openChildren = 0;
  /** Called when the last of these is gone. */
  onChildless: (() => void) | undefined;
  /** What its tools want done at its end; undefined while they want nothing. */
  cleanUps: CleanUp[] | undefined;
  /** Its tools have nothing more to leave behind: its end is being recorded. */
  isCleanedUp = false;
  /** Kept when whoever started it wants to know what its tools did. */
  toolLog: ToolLog | undefined;
  /** Told of its end before its place is free for another. */
  onEnd: ((outcome: RunOutcome) => void) | undefined;
  /** What was thrown when it failed: for the caller of a root, who hears more than an event can hold. */
  cause: unknown;
  /** Grows with every sign of life. */
  beats = 0;
  /** For people: what it does now. */
  waitingFor = "its first turn";
  /** Ids of tool calls seen so far, so that none is used twice. */
  readonly callIds: UsedIds = new UsedIds();
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

  /** The runs that wait for its end move again. */
  endWaits(): void {
    for (const wait of this.waits ?? []) wait[Symbol.dispose]();
    this.waits = undefined;
  }

  receive(incoming: Incoming): void {
    this.inbox ??= [];
    this.inbox.push(incoming);
    this.onIncoming?.();
  }

  /** What its tools and its children hang on: aborts with the run, or before it when only last words are left. */
  get work(): Scope {
    this.#work ??= new Scope(this.scope);
    return this.#work;
  }

  /** It should say what it has and end, after the turn it is in. */
  wrapUp(): void {
    this.isWrappingUp = true;
    this.onIncoming?.();
  }

  /** Its tools and children stop now; then it says what it has and ends. */
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

/** Why a scope was aborted: becomes the run's outcome. */
export class Cancelled extends Error {
  override name = "Cancelled";
}

/** The deadline of a run has passed: its own ending is `timeout`, the runs below it are cancelled. */
export class TimedOut extends Error {
  override name = "TimedOut";
  readonly runId: string;

  constructor(message: string, runId: string) {
    super(message);
    this.runId = runId;
  }
}
