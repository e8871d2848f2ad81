/** The services of a tree for its runs. */

import type { ApprovalAnswer, ApprovalPolicy, ApprovalRequest, LateAnswer, QuestionPorts } from "./approval.ts";
import type { Redactor } from "./clean-text.ts";
import type { Clock } from "./clock.ts";
import type { ConversationLimits } from "./conversation.ts";
import type {
  DeltaBody,
  EventListener,
  PieceBody,
  RunIdentity,
  StoredBody,
  StoredEvent,
  ToolProgress,
} from "./event.ts";
import type { LimitState, OnExhausted } from "./limits.ts";
import type { ModelAnswer } from "./model.ts";
import type { Fault, RunOutcome } from "./outcome.ts";
import type { Run } from "./run.ts";
import type { ChildControl, SpawnReply, SpawnRequest } from "./spawn.ts";
import type { TraceContext } from "./trace-context.ts";
import type { Usage } from "./usage.ts";

/** An answer with its bill. */
export type BilledAnswer = ModelAnswer & { usage: Usage; costUsd: number | null };

/**
 * The options of one turn. A closing turn may not call tools and may spend the reserve for last words; `jsonOutput` asks for the
 * output in the shape that the agent has, if it has one.
 */
export type AskOptions = { closing: boolean; jsonOutput: boolean };

/** The services of the tree for its runs. One object for the whole tree, so a run carries no closures of its own. */
export type TreePorts = {
  readonly clock: Clock;
  /** The worker that continues the journal; undefined outside of one. */
  readonly worker: string | undefined;
  readonly cwd: string;
  /** Removes secrets from the text of a tool or a child before it is cut, stored or read by a model. */
  readonly redactor: Redactor;
  readonly questions: QuestionPorts;
  /** Every call is put to them, also one whose tool runs freely. */
  readonly rules: Omit<ApprovalPolicy, "ask"> | undefined;
  readonly maxDepth: number;
  readonly conversation: ConversationLimits;
  readonly onExhausted: OnExhausted;
  readonly onLiveChildren: "wait" | "cancel";
  /** The fault of a root for which a child that had to succeed has failed; undefined for every other run. */
  missingChild(run: Run): Fault | undefined;
  emit(run: Run, body: StoredBody): void;
  /** Shows a piece of what an agent says, or how far one of its calls is; not stored. */
  show(run: Run, piece: PieceBody | ToolProgress): void;
  /** True when someone would see what is shown and not stored. */
  readonly isWatched: boolean;
  /** The run waits for this limit. */
  waitForBudget(run: Run, limit: LimitState): void;
  /** Undefined when everything recorded so far is stored. Awaited before every outside effect. */
  settled(): Promise<void> | undefined;
  /** One question with budget, slot and retries; records its `turn-start`. */
  ask(run: Run, options: AskOptions): Promise<BilledAnswer>;
  /** Asks the person at the root; undefined when there is none. Clocks stop meanwhile. */
  approve(run: Run, request: ApprovalRequest): Promise<ApprovalAnswer> | undefined;
  /** The answer that `resume` was given to this question; each is found once. */
  givenAnswer(run: Run, request: ApprovalRequest): LateAnswer | undefined;
  /**
   * Waits until nothing below a run with parked calls is at work, then throws `Parked`. Returns when the run cannot wait
   * for its answers any more, because it was stopped or its store failed.
   */
  park(run: Run): Promise<void>;
  /** A run that threw `Parked` gives back whatever it holds, without an end. */
  parked(run: Run, outcome: RunOutcome): void;
  /** Ends the parked runs below a run that ends itself. */
  closeParked(run: Run): void;
  spawn(run: Run, callId: string, request: SpawnRequest): Promise<SpawnReply>;
  /** `callId` is the call that uses it; undefined when a program outside of the tree does. */
  childrenOf(run: Run, callId: string | undefined): ChildControl;
  /** Calls of a resumed run whose background children have not reported yet. */
  backgroundCalls(run: Run): { callId: string; toolName: string; input: unknown }[];
  /** Ends the children from before a restart that no call has asked for again. */
  closeOrphans(run: Run): void;
  /** Gives back whatever the run holds; without an outcome the runtime itself has failed. */
  ended(run: Run, outcome: RunOutcome | undefined): void;
  /** The trace for a program that works for the run. */
  traceOf(run: Run): TraceContext | undefined;
  /** Stops the children that are still alive and waits for them; undefined when there are none. */
  closeChildren(run: Run): Promise<void> | undefined;
  /** Waits until a background child of the run has reported; false when none is alive. */
  nextReport(run: Run): Promise<boolean>;
};

/** A journal while it is written: every fact goes through it, is numbered, kept, and only then shown. */
export type Journal = {
  /** Never waits. */
  append(who: RunIdentity, body: StoredBody): void;
  /** Shows a delta behind everything that is not yet kept, and does not store it. Costs nothing without listeners. */
  delta(who: RunIdentity, body: DeltaBody): void;
  /** True when a listener would see a delta. */
  readonly isWatched: boolean;
  /** Undefined when everything is kept; else resolves when it is. Awaited before every outside effect. */
  settled(): Promise<void> | undefined;
  subscribe(listener: EventListener): Disposable;
  /** Shows an event of another journal of the tree, which is kept there. */
  showForeign(event: StoredEvent, journalId: string): void;
  /**
   * Nothing is kept from now on, as if another process had taken the journal over. Resolves when what was being written is kept or
   * has failed.
   */
  leave(reason: string): Promise<void>;
  /** The last event that has been shown or is being shown: a listener that subscribes now may miss those up to it. */
  readonly shownSeq: number;
  /** The reason why the events of this tree are no longer kept, if so. */
  readonly degraded: string | undefined;
};
