/** A stored tree as something that can be played again: a pure fold from its events to what its models and tools answered. */

import { UserError } from "../../core/errors.ts";
import type { EventOf, StoredEvent } from "../../core/event.ts";
import { type ToolCallPart, textOf, toolCallsOf } from "../../core/message.ts";
import { readWholeTree } from "../../core/read-tree.ts";
import type { Store } from "../../core/store.ts";
import type { ShownTool } from "../../core/tool-set.ts";
import { addUsage, noUsage, type Usage, utf8Length } from "../../core/usage.ts";
import type { ModelErrorKind } from "../../core/words/model-errors.ts";
import { inPlayedOrder } from "./played-order.ts";
import { wasStopped } from "./stops.ts";

export type Recording = {
  readonly rootId: string;
  /** The events in the order of their numbers. */
  readonly events: readonly StoredEvent[];
  /** The runs of each agent in their order, by path; paths in the order of their first start. */
  readonly paths: ReadonlyMap<string, readonly RunRecording[]>;
  readonly runs: ReadonlyMap<string, RunRecording>;
  /** The tools that the model of a run was shown, by their hash. */
  readonly toolSets: ReadonlyMap<string, readonly ShownTool[]>;
};

export type RunRecording = {
  readonly runId: string;
  readonly path: string;
  readonly start: EventOf<"run-start">;
  /** The events of the run itself in order, the start included. */
  readonly events: readonly StoredEvent[];
  /** Undefined when the process ended before the run did. */
  readonly end: EventOf<"run-end"> | undefined;
  readonly questions: readonly RecordedQuestion[];
  /** Calls of the model, their results and their approvals, by call id. */
  readonly calls: ReadonlyMap<string, ToolCallPart>;
  readonly results: ReadonlyMap<string, EventOf<"tool-call-end">>;
  readonly asked: ReadonlyMap<string, EventOf<"approval-request">>;
  readonly approvals: ReadonlyMap<string, EventOf<"approval-end">>;
  /** The same for what tools asked by themselves. */
  readonly toolAsked: ReadonlyMap<string, EventOf<"approval-request">>;
  readonly toolApprovals: ReadonlyMap<string, EventOf<"approval-end">>;
  /** The ends of the calls that an external agent made by itself, by call id. */
  readonly externalEnds: ReadonlyMap<string, EventOf<"outside-call">>;
  /** The run that started it: always one that was there before. */
  readonly parent: RunRecording | undefined;
  /** The runs it started, in their order. */
  readonly children: readonly RunRecording[];
};

/** One request to the model and what came of it. */
type RecordedQuestion = {
  readonly turn: number;
  /** The number of its run's events before it: what it was asked is the conversation after these. */
  readonly index: number;
  readonly reply: RecordedReply;
};

export type RecordedReply =
  | { readonly kind: "answer"; readonly event: EventOf<"message-end"> }
  /** `event` is the first that shows it. */
  | {
      readonly kind: "failure";
      readonly event: StoredEvent;
      readonly error: { readonly kind: ModelErrorKind; readonly message: string };
      readonly partial: PartialAnswer;
    }
  /** The run was stopped, or its process ended, while it waited. */
  | { readonly kind: "none"; readonly partial: PartialAnswer };

/** The beginning of an answer that was never completed. */
export type PartialAnswer = {
  readonly text: string;
  readonly outputTokens: number;
  /** The model may have begun: the attempt was paid for. */
  readonly isBilled: boolean;
};

/** The tree of this run, whichever of its runs is named. Throws a `UserError` when there is none that could be played. */
export async function readRecording(
  store: Pick<Store, "read" | "run">,
  runId: string,
  signal?: AbortSignal,
): Promise<Recording> {
  const record = await store.run(runId);
  if (record === undefined) throw new UserError(`No run with the id ${runId}`);
  const events = await readWholeTree(store, record.rootId, { signal });
  const recording = foldRecording(inPlayedOrder(events));
  if (recording === undefined) throw new UserError(`The run ${runId} cannot be played: its beginning was not kept`);
  return recording;
}

/** `events` are all of one tree, in order. Undefined when they do not begin with the `run-start` of a root. */
export function foldRecording(events: readonly StoredEvent[]): Recording | undefined {
  const [first] = events;
  if (first?.type !== "run-start" || first.parentId !== null) return undefined;
  const folds = new Map<string, RunFold>();
  const toolSets = new Map<string, readonly ShownTool[]>();
  for (const event of events) {
    if (event.type !== "run-start") {
      folds.get(event.runId)?.add(event);
      continue;
    }
    // Nothing but a damaged store starts a run twice.
    if (folds.has(event.runId)) continue;
    // Looked for first: no run is its own parent, whatever a crafted store says.
    const parent = event.parentId === null ? undefined : folds.get(event.parentId);
    const { hash, shown } = event.tools;
    if (shown !== undefined) toolSets.set(hash, shown);
    const fold = new RunFold(event, parent);
    folds.set(event.runId, fold);
    parent?.children.push(fold);
  }
  for (const fold of folds.values()) fold.finish();
  const paths = Map.groupBy(folds.values(), ({ path }) => path);
  return { rootId: first.runId, events, paths, runs: folds, toolSets };
}

/** A run and everything below it, by paths that begin with its own agent. */
export type RecordingPart = Pick<Recording, "paths"> & { readonly top: RunRecording; pathOf(path: string): string };

/** Throws a `UserError` when there is no such run. */
export function partOf({ runs, paths }: Recording, runId: string): RecordingPart {
  const top = runs.get(runId);
  if (top === undefined) throw new UserError(`No run with the id ${runId}`);
  // Two runs of one task may have been started under different names.
  const pathOf = (path: string) => `${top.start.agent}${path.slice(top.path.length)}`;
  const below = [...paths].filter(([path]) => path === top.path || path.startsWith(`${top.path}/`));
  return { top, pathOf, paths: new Map(below.map(([path, ofPath]) => [pathOf(path), ofPath])) };
}

/** Says why the recording of this run stops before its work was done; undefined when it came to an end of its own. */
export function earlyEnd({ end }: Pick<RunRecording, "end">): string | undefined {
  if (end === undefined) return "its process ended before it did";
  switch (end.status) {
    case "cancelled":
      return "it was cancelled";
    case "timeout":
      return "its time was over";
    case "failed":
      return end.fault?.type === "store" || end.fault?.type === "crash" ? `it failed: ${end.fault.message}` : undefined;
    default:
      return undefined;
  }
}

class RunFold implements RunRecording {
  readonly runId: string;
  readonly path: string;
  readonly start: EventOf<"run-start">;
  readonly events: StoredEvent[];
  readonly questions: RecordedQuestion[] = [];
  readonly calls = new Map<string, ToolCallPart>();
  readonly results = new Map<string, EventOf<"tool-call-end">>();
  readonly asked = new Map<string, EventOf<"approval-request">>();
  readonly approvals = new Map<string, EventOf<"approval-end">>();
  readonly toolAsked = new Map<string, EventOf<"approval-request">>();
  readonly toolApprovals = new Map<string, EventOf<"approval-end">>();
  readonly externalEnds = new Map<string, EventOf<"outside-call">>();
  readonly parent: RunRecording | undefined;
  readonly children: RunFold[] = [];
  end: EventOf<"run-end"> | undefined;
  readonly #billed: Usage = noUsage();
  /** The last request of each call: a tool may ask again, after the call itself was approved. */
  readonly #latestRequests = new Map<string, EventOf<"approval-request">>();
  /** The question that waits for its answer. */
  #asked: { turn: number; index: number } | undefined;
  #text = "";
  /** The text before an answer that continues after a cut. */
  #cutText = "";
  /** The last answer is continued by the next one. */
  #isPaused = false;

  constructor(start: EventOf<"run-start">, parent: RunRecording | undefined) {
    this.parent = parent;
    this.runId = start.runId;
    this.path = start.path;
    this.start = start;
    this.events = [start];
  }

  add(event: StoredEvent): void {
    switch (event.type) {
      case "turn-start":
        this.#asked = { turn: event.turn, index: this.events.length };
        break;
      case "message-end":
        this.#answered(event);
        break;
      case "retry":
        this.#retried(event);
        break;
      case "prune":
        // A prompt is made shorter while a question is open only because the model found it too long.
        this.#failed(event, "context_length", "The recorded prompt was too long for the model");
        break;
      case "tool-call-end":
        this.results.set(event.callId, event);
        break;
      case "outside-call":
        if (event.phase === "end") this.externalEnds.set(event.callId, event);
        break;
      case "approval-request":
        this.#latestRequests.set(event.callId, event);
        (event.toolReason === undefined ? this.asked : this.toolAsked).set(event.callId, event);
        break;
      case "approval-end": {
        const isForTool = this.#latestRequests.get(event.callId)?.toolReason !== undefined;
        (isForTool ? this.toolApprovals : this.approvals).set(event.callId, event);
        break;
      }
      case "notice":
        if (event.reason === "cut-answer") this.#cutText += this.#text;
        break;
      case "run-end":
        this.#ended(event);
        break;
      default:
    }
    this.events.push(event);
  }

  #answered(event: EventOf<"message-end">): void {
    this.#close({ kind: "answer", event }, event.turn);
    addUsage(this.#billed, event.usage);
    if (this.#isPaused) this.#cutText += this.#text;
    this.#text = textOf(event.message);
    const calls = toolCallsOf(event.message);
    this.#isPaused = event.finish === "paused" && calls.length === 0;
    for (const call of calls) this.calls.set(call.callId, call);
    if (calls.length > 0) this.#cutText = "";
  }

  #retried(event: EventOf<"retry">): void {
    const { kind, message, spent } = event;
    const turn = this.#asked?.turn ?? 0;
    const partial = { text: "", outputTokens: spent.outputTokens, isBilled: spent.totalTokens > 0 };
    this.#close({ kind: "failure", event, error: { kind, message }, partial }, turn);
    addUsage(this.#billed, spent);
    this.#asked = { turn, index: this.events.length + 1 };
  }

  #ended(event: EventOf<"run-end">): void {
    this.end = event;
    if (this.#asked === undefined) return;
    const outputTokens = Math.max(0, event.usage.outputTokens - this.#billed.outputTokens);
    const text = withoutPrefix(event.text, this.#cutText);
    // A longer text is what was said before: last words that do not come change nothing.
    const isPartial = utf8Length(text) <= outputTokens * 3;
    const isBilled = event.usage.totalTokens > this.#billed.totalTokens;
    const partial = { text: isPartial ? text : "", outputTokens, isBilled };
    const message = event.status === "failed" ? (event.fault?.message ?? "") : "The recorded answer failed";
    if (wasStopped(this)) this.#close({ kind: "none", partial }, 0);
    else if (!message.startsWith(TOO_LONG)) this.#failed(event, "unknown", message, partial);
    else this.#failed(event, "context_length", message.slice(TOO_LONG.length), partial);
  }

  #failed(event: StoredEvent, kind: ModelErrorKind, message: string, partial = NOTHING): void {
    this.#close({ kind: "failure", event, error: { kind, message }, partial }, 0);
  }

  #close(reply: RecordedReply, turn: number): void {
    // An answer is kept also where its question was lost.
    const asked = this.#asked ?? (reply.kind === "answer" ? { turn, index: this.events.length } : undefined);
    this.#asked = undefined;
    if (asked !== undefined) this.questions.push({ ...asked, reply });
  }

  finish(): void {
    this.#close({ kind: "none", partial: NOTHING }, 0);
  }
}

/** The words of the loop before those of the provider (`runtime/loop/run-turn.ts`). */
const TOO_LONG = "The conversation is too long for the model and cannot be shortened: ";

export const NOTHING: PartialAnswer = { text: "", outputTokens: 0, isBilled: false };

function withoutPrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : text;
}
