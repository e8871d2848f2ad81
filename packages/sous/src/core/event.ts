/**
 * The one union of facts. Everything that shows, counts or stores is a fold over it. Stored events are numbered without
 * gaps within a tree; deltas are shown and not stored, and take no number.
 */

import type { CallTarget } from "./approval.ts";
import type { ErrorType } from "./errors.ts";
import type { LimitState } from "./limits.ts";
import type { AssistantMessage, FilePart } from "./message.ts";
import type { FinishReason, ProviderCalls } from "./model.ts";
import type { RunOutcome } from "./outcome.ts";
import type { RunCall, RunStart } from "./run-start.ts";
import type { CancelMode } from "./spawn.ts";
import type { ToolOrigin } from "./tool.ts";
import type { StoredBudget } from "./units.ts";
import type { Usage } from "./usage.ts";
import type { ModelErrorKind } from "./words/model-errors.ts";

/** The run an event belongs to; the same object for all events of a run. */
export type RunIdentity = {
  readonly runId: string;
  /** Stable over follow-ups: the id of the agent's first run. */
  readonly agentId: string;
  /** The run that started this one; null for a root. */
  readonly parentId: string | null;
  /** `lead/scout#2`, unique in the tree. */
  readonly path: string;
  /** The root is 0. */
  readonly depth: number;
};

/** An event that is stored, without its head. */
export type StoredBody =
  | RunStart
  /** `reserved` is what the ledger holds for the call: after a crash it counts as spent. */
  | {
      type: "turn-start";
      turn: number;
      promptTokens: number;
      reserved: number;
      /** USD that are held for a prompt to an external agent. */
      reservedUsd?: number | undefined;
    }
  /** The model has answered, and this is its bill. */
  | {
      type: "message-end";
      turn: number;
      message: AssistantMessage;
      finish: FinishReason;
      usage: Usage;
      costUsd: number | null;
      /** Calls of tools that the provider ran itself, counted by their ids. */
      providerCalls?: ProviderCalls | undefined;
    }
  /** The call is intended: recorded before it starts. */
  | { type: "tool-call-start"; callId: string; toolName: string; input: unknown }
  /** The call is done: recorded before the model sees the result. */
  | {
      type: "tool-call-end";
      callId: string;
      toolName: string;
      /** The text that the model reads. */
      output: string;
      isError: boolean;
      /** Pictures and documents that belong to the result. */
      files?: readonly FilePart[] | undefined;
      durationMs: number;
      /** The stack of a throw, for a developer. */
      stack?: string | undefined;
      metadata?: Readonly<Record<string, unknown>> | undefined;
    }
  /** A session with an external agent was opened, or opened again. Kept before the agent is prompted. */
  | { type: "outside-session"; server: string; sessionId: string; continued: boolean }
  /** An act of an external agent by itself, or of a provider while it answers (`kind` is `provider`). Not a tool call: it is never made again. */
  | {
      type: "outside-call";
      callId: string;
      phase: "start" | "end";
      /** The name that the agent gives it. */
      name: string;
      kind: string;
      title: string;
      input: unknown;
      output?: string | undefined;
      isError?: boolean | undefined;
    }
  /** A tool needs approval: exactly this would run. */
  | {
      type: "approval-request";
      callId: string;
      toolName: string;
      input: unknown;
      /** The origin of the tool, when it is a server's. */
      origin?: ToolOrigin | undefined;
      /** The reason why the tool itself asks, whatever rules allow. */
      toolReason?: string | undefined;
      /** The files that the call leads to; undefined when it is about none. */
      target?: CallTarget | undefined;
    }
  /** The answer, and who gave it. */
  | {
      type: "approval-end";
      callId: string;
      allowed: boolean;
      by: "person" | "nobody" | "cancelled";
      reason: string | undefined;
    }
  /** A limit of the budget was reached. */
  | { type: "budget-warning"; message: string }
  /** An attempt to ask the model failed and is made again after the delay. */
  | {
      type: "retry";
      attempt: number;
      delayMs: number;
      kind: ModelErrorKind;
      message: string;
      spent: Usage;
      costUsd: number | null;
    }
  /** The number of messages that were dropped, and the position of the first of them; the task was not among them. */
  | { type: "prune"; from: number; dropped: number; tokensBefore: number; tokensAfter: number }
  /** A text was too long for its reader and was cut. */
  | { type: "truncation"; subject: "report" | "tool-result"; of: string; originalBytes: number; keptBytes: number }
  /** No child was made: depth, input, rights, budget or no free slot. Its path, once given, is not given again. */
  | {
      type: "spawn-refused";
      label: string;
      childPath?: string | undefined;
      /** It waited to start. Its call may have been told that it runs in the background. */
      waited?: true | undefined;
      errorType: ErrorType;
      message: string;
    }
  /** A child was placed: its events are in a journal of its own, which begins with `childRunId`. Recorded before that begins. */
  | {
      type: "placed";
      childRunId: string;
      childAgentId: string;
      childPath: string;
      label: string;
      agent: string;
      call: RunCall | undefined;
      budget: StoredBudget | undefined;
    }
  /** Nothing has happened in this run for a while. */
  | { type: "stalled"; seconds: number; waitingFor: string }
  /** The run was told to stop: by the call of its parent, by mail, or from outside of the tree. */
  | { type: "cancel"; mode: CancelMode; callId?: string | undefined; mail?: number | undefined }
  /** A message was given to a live run: by the call of its parent, by mail, or from outside of the tree. */
  | { type: "steer"; text: string; callId?: string | undefined; mail?: number | undefined }
  /** The runtime itself spoke to the model. */
  | { type: "notice"; reason: NoticeReason; text: string }
  /** A background child's report reached its parent: exactly once per child run. */
  | { type: "report"; childRunId: string; childAgentId: string; text: string }
  /**
   * The process that ran it ended before the run did, and another continues it from here, if only to end it. `usedMs` of its
   * time was used. `run` is for a listener that did not see it start; journals of earlier versions lack it. `worker` says which
   * worker took it; with it, the run may have been waiting for its first one.
   */
  | {
      type: "resume";
      usedMs: number;
      run?: ResumedRun | undefined;
      worker?: string | undefined;
      /** Only of the first run of a placed journal: 1 when a worker takes it for the first time. */
      attempt?: number | undefined;
    }
  /** A run is over: exactly one per run, whatever happened to it. */
  | ({
      type: "run-end";
      /** Only of the first run of a placed journal: what everything below it used. */
      usageBelow?: Usage | undefined;
      costBelowUsd?: number | null | undefined;
    } & RunOutcome);

/** A run that continues: enough to show and to count it. */
export type ResumedRun = Pick<RunStart, "agent" | "label" | "model" | "call" | "traceparent"> & {
  startedAt: number;
  /** The number of answers it had. */
  turns: number;
  /** The usage it had; a question that was not answered is counted behind this event. */
  usage: Usage;
  /** The part of it that failed attempts used of a question whose answer never came, if any. */
  retried?: Usage | undefined;
  /** The number of the `turn-start` of its last answer; undefined when it had none. */
  answeredSeq?: number | undefined;
};

/** The reason why the runtime spoke to a model. */
export type NoticeReason =
  | "summary"
  | "output-repair"
  | "wrap-up"
  | "empty-answer"
  | "cut-answer"
  | "no-report"
  | "interrupted";

/** The text of a model, piece by piece. */
export type PieceBody =
  /** A piece of text, as it comes. */
  | { type: "text-delta"; text: string }
  /** A piece of the model's thinking. */
  | { type: "reasoning-delta"; text: string };

/** The progress of a call, as its tool says: one short line without secrets, and numbers where they are known. */
export type ToolProgress = {
  type: "tool-progress";
  callId: string;
  toolName: string;
  text: string;
  done?: number | undefined;
  total?: number | undefined;
};

/** An event that is shown and not stored, without its head. */
export type DeltaBody =
  | PieceBody
  /** A call that runs says how far it is. */
  | ToolProgress
  /** The tree stops without an end, because an answer comes later: `resume` continues the run. */
  | { type: "park" }
  /** The run waits for this limit, to start or to continue, until its next event. */
  | { type: "budget-wait"; limit: LimitState }
  /** The rate of the provider holds the next call of the run back for about this time. */
  | { type: "rate-wait"; delayMs: number }
  /** Most of this limit is spent. Once for each limit. */
  | { type: "budget-near"; limit: LimitState };

/** An event that is stored: numbered by `seq` within its journal. */
export type StoredEvent = {
  [Body in StoredBody as Body["type"]]: Readonly<Body> & RunIdentity & { readonly time: number; readonly seq: number };
}[StoredBody["type"]];
/** A stored event as the root of its tree shows it, when it is in another journal than the root's. */
export type ForeignEvent = StoredEvent & { readonly journalId: string };
/** An event that is shown and not stored. */
export type DeltaEvent = {
  [Body in DeltaBody as Body["type"]]: Readonly<Body> &
    RunIdentity & { readonly time: number; readonly seq?: undefined };
}[DeltaBody["type"]];
/** Everything that can happen in a tree. */
export type SousEvent = StoredEvent | DeltaEvent;

/** One type of event by its name: `EventOf<"run-end">`. */
export type EventOf<Type extends SousEvent["type"]> = Extract<SousEvent, { type: Type }>;

/** Called with every event of a tree, in order. What it throws changes nothing. */
export type EventListener = (event: SousEvent) => void;
