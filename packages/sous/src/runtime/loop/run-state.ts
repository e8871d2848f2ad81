/** A run as its events tell it, up to what it was in the middle of: a pure fold. */

import type { EventOf, NoticeReason, StoredEvent } from "../../core/event.ts";
import { type AssistantMessage, type ToolResultPart, textOf, toolCallsOf } from "../../core/message.ts";
import type { FinishReason } from "../../core/model.ts";
import { addCost, addUsage, noUsage, type Usage } from "../../core/usage.ts";
import { type CallStates, noteAnswer, noteQuestion } from "./earlier-calls.ts";
import type { ClosingTurn, UnheardQuestion } from "./unfinished.ts";

export type RunState = {
  readonly start: EventOf<"run-start">;
  end: EventOf<"run-end"> | undefined;
  turns: number;
  /** The number of the `turn-start` of its last answer. */
  answeredSeq: number | undefined;
  toolCount: number;
  readonly usage: Usage;
  /** The part of it that failed attempts of an open question have used. */
  retried: Usage;
  costUsd: number | null;
  text: string;
  cutText: string;
  emptyAnswers: number;
  lacksApproval: boolean;
  readonly callIds: Set<string>;
  /** The last answer, if some of its tool calls have no result yet; undefined when the run was about to ask, or asking. */
  answer: { message: AssistantMessage; finish: FinishReason } | undefined;
  /** The number of events that tell what the provider did by itself for the last answer. */
  activity: number;
  /** The calls of the last answer by call id: how far each came. */
  calls: CallStates;
  /** The last turn had begun. */
  closing: ClosingTurn | undefined;
  /** A question to the model whose answer was not recorded. */
  unsettled: UnheardQuestion | undefined;
  /** The session with an external agent, and whether a prompt was sent there whose answer was not recorded. */
  external: { sessionId: string; isPrompted: boolean } | undefined;
  /** The time at work, in all processes together. */
  usedMs: number;
  /** The number of times that a worker has taken it. */
  takings: number;
};

/** The state of one run, from its events in order. `state` is current after each of them. */
export class RunFold {
  readonly state: RunState;
  /** The time at work before `#since`. */
  #usedBefore = 0;
  #since: number;
  #lastTime: number;
  #exceeded: string | undefined;
  #turnSeq: number | undefined;
  #isAsking = false;
  /** Questions that wait for a person. The clock stands still from the first to the last answer; that of a root never does. */
  readonly #asked = new Set<string>();
  #askedSince = 0;

  constructor(start: EventOf<"run-start">) {
    this.#since = start.time;
    this.#lastTime = start.time;
    this.state = {
      start,
      end: undefined,
      turns: 0,
      answeredSeq: undefined,
      toolCount: 0,
      usage: noUsage(),
      retried: noUsage(),
      costUsd: 0,
      text: "",
      cutText: "",
      emptyAnswers: 0,
      lacksApproval: false,
      callIds: new Set(),
      answer: undefined,
      activity: 0,
      calls: new Map(),
      closing: undefined,
      unsettled: undefined,
      external: undefined,
      usedMs: 0,
      takings: 0,
    };
  }

  add(event: StoredEvent): void {
    this.#lastTime = Math.max(this.#lastTime, event.time);
    this.#note(event);
    const until = this.#asked.size > 0 ? this.#askedSince : this.#lastTime;
    // The clock of the machine may have been set meanwhile.
    this.state.usedMs = this.#usedBefore + Math.max(0, until - this.#since);
  }

  #note(event: StoredEvent): void {
    const { state } = this;
    switch (event.type) {
      case "turn-start":
        if (state.answer?.finish === "paused" && toolCallsOf(state.answer.message).length === 0) this.#keepText();
        state.answer = undefined;
        this.#turnSeq = event.seq;
        this.#isAsking = true;
        state.retried = noUsage();
        state.unsettled = {
          promptTokens: event.promptTokens,
          reserved: event.reserved,
          reservedUsd: event.reservedUsd,
        };
        if (state.external !== undefined) state.external.isPrompted = true;
        break;
      case "outside-session":
        state.external = { sessionId: event.sessionId, isPrompted: state.external?.isPrompted === true };
        break;
      case "message-end":
        if (state.external !== undefined) state.external.isPrompted = false;
        this.#answered(event);
        break;
      case "retry":
        this.#bill(event.spent, event.costUsd);
        if (this.#isAsking) addUsage(state.retried, event.spent);
        break;
      case "tool-call-start":
        state.toolCount += 1;
        state.calls.set(event.callId, { state: "started" });
        break;
      case "approval-request":
        if (this.#asked.size === 0) this.#askedSince = event.time;
        if (event.depth > 0) this.#asked.add(event.callId);
        // Others ask too: an external agent, and the gate for one.
        noteQuestion(state.calls, event);
        break;
      case "approval-end":
        if (this.#asked.delete(event.callId) && this.#asked.size === 0) this.#since += event.time - this.#askedSince;
        if (event.by === "nobody") state.lacksApproval = true;
        noteAnswer(state.calls, event);
        break;
      case "tool-call-end": {
        const { callId, toolName, output, isError, files } = event;
        const part: ToolResultPart = { type: "tool-result", callId, toolName, output, isError };
        if (files !== undefined && files.length > 0) part.files = files;
        state.calls.set(callId, { state: "ended", part });
        break;
      }
      case "notice":
        this.#noticed(event.reason);
        break;
      case "steer":
      case "report":
      case "prune":
        state.answer = undefined;
        break;
      case "budget-warning":
        this.#exceeded = event.message;
        // No further attempt was made.
        state.unsettled = undefined;
        break;
      case "resume":
        // Earlier questions were settled by the run that continued.
        this.#isAsking = false;
        if (event.worker !== undefined) state.takings += 1;
        state.retried = noUsage();
        state.unsettled = undefined;
        this.#usedBefore = event.usedMs;
        this.#asked.clear();
        this.#since = event.time;
        this.#lastTime = event.time;
        break;
      case "run-end":
        state.end = event;
        break;
      case "run-start":
      case "truncation":
      case "spawn-refused":
      case "placed":
      case "stalled":
      case "cancel":
        break;
      case "outside-call":
        state.activity += 1;
        break;
      default:
        event satisfies never;
    }
  }

  #answered({ message, finish, turn, usage, costUsd }: EventOf<"message-end">): void {
    const state = this.state;
    const calls = toolCallsOf(message);
    this.#bill(usage, costUsd);
    this.#isAsking = false;
    state.retried = noUsage();
    state.unsettled = undefined;
    state.answer = { message, finish };
    state.activity = 0;
    state.calls = new Map();
    for (const { callId } of calls) state.callIds.add(callId);
    state.text = textOf(message);
    state.turns = turn;
    state.answeredSeq = this.#turnSeq;
    if (state.closing !== undefined) {
      state.closing.isAnswered = true;
      state.closing.finish = finish;
      return;
    }
    if (calls.length > 0) {
      state.emptyAnswers = 0;
      state.cutText = "";
    }
  }

  /** The answer continues: what was said stays a part of it. */
  #keepText(): void {
    this.state.cutText += this.state.text;
    this.state.text = "";
  }

  #noticed(reason: NoticeReason): void {
    const state = this.state;
    const { answer } = state;
    state.answer = undefined;
    switch (reason) {
      case "cut-answer":
        this.#keepText();
        break;
      case "empty-answer":
        state.emptyAnswers += 1;
        break;
      case "summary":
      case "wrap-up":
      case "output-repair":
        state.closing = {
          reason,
          isAnswered: false,
          earlier: state.cutText + state.text,
          hasAnswer: answer !== undefined && toolCallsOf(answer.message).length === 0,
          exceeded: this.#exceeded,
        };
        state.cutText = "";
        state.text = "";
        break;
      case "no-report":
      case "interrupted":
        break;
      default:
        reason satisfies never;
    }
  }

  #bill(usage: Readonly<Usage>, costUsd: number | null): void {
    addUsage(this.state.usage, usage);
    this.state.costUsd = addCost(this.state.costUsd, costUsd);
  }
}
