/** One live run as its spans see it: where it lies in its trace, and what of it is open. */

import {
  type Attributes,
  type HrTime,
  type Link,
  type Span,
  type SpanContext,
  SpanStatusCode,
} from "@opentelemetry/api";
import type { ResumedRun, RunIdentity } from "../../core/event.ts";
import { FAN_OUT } from "../../core/spawn.ts";
import { type SpanPart, spanIdOf } from "../../core/trace-context.ts";
import { noUsage, type Usage } from "../../core/usage.ts";
import { rememberIn } from "./remember-in.ts";
import { cutText, type PendingInput } from "./span-content.ts";
import type { ParentSpan } from "./span-maker.ts";
import type { EventAttributes, SpanAttributes, SpanEventName } from "./span-names.ts";

/** The most events of one span. */
export const MAX_EVENTS = 100;
const MAX_MESSAGE_BYTES = 1024;

/** A span that has not ended, with a bounded number of events. */
export class OpenSpan {
  readonly #span: Span;
  #events = 0;

  constructor(span: Span) {
    this.#span = span;
  }

  get context(): SpanContext {
    return this.#span.spanContext();
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes as Attributes);
  }

  link(link: Link): void {
    this.#span.addLink(link);
  }

  event<Name extends SpanEventName>(name: Name, time: number, attributes: EventAttributes<Name>): void {
    this.#events += 1;
    if (this.#events <= MAX_EVENTS) this.#span.addEvent(name, attributes as Attributes, hrTime(time));
  }

  fail(errorType: string, message?: string | undefined): void {
    this.set({ "error.type": errorType });
    const words = message === undefined ? {} : { message: cutText(message, MAX_MESSAGE_BYTES) };
    this.#span.setStatus({ code: SpanStatusCode.ERROR, ...words });
  }

  end(time: number): void {
    if (this.#events > MAX_EVENTS) this.set({ "sous.events.left_out": this.#events - MAX_EVENTS });
    this.#span.end(hrTime(time));
  }
}

/** The tokens of a turn. */
export function usageAttributes(usage: Readonly<Usage>): SpanAttributes {
  return {
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cachedInputTokens,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
    ...(usage.estimated && { "sous.usage.estimated": true }),
  };
}

/** Exact, and never taken for a time since the start of the process. */
export function hrTime(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)];
}

/** The span of a turn, and the tokens of its attempts so far. */
export type OpenChat = {
  readonly span: OpenSpan;
  readonly usage: Usage;
  /** The kind of the last failed attempt. */
  failure: string | undefined;
};

/** The facts that are known when a run begins or continues. */
export type RunFacts = {
  readonly who: RunIdentity;
  readonly agent: string;
  readonly model: string;
  readonly conversationId: string;
  /** Attributes of all its spans, and of those of its model. */
  readonly shared: SpanAttributes;
  readonly ofModel: SpanAttributes;
};

/** Contexts of ended calls that are kept where ids do not follow from runs: a background child may still name one. */
const MAX_ENDED_CALLS = 64;

export class TracedRun {
  readonly facts: RunFacts;
  readonly span: OpenSpan;
  /** The span as the one that others lie under. */
  readonly below: ParentSpan;
  chat: OpenChat | undefined;
  readonly calls = new Map<string, OpenSpan>();
  readonly externalCalls = new Map<string, OpenSpan>();
  /** Calls that a person did not allow. */
  readonly denied = new Set<string>();
  /** Undefined when content is not captured. */
  readonly pending: PendingInput | undefined;
  /** Tokens that are on spans of turns; undefined when those of an earlier process are not known. */
  counted: Usage | undefined = noUsage();
  /** False when the provider of the spans chooses other ids. */
  readonly #hasOwnIds: boolean;
  #endedCalls: Map<string, SpanContext> | undefined;

  constructor(facts: RunFacts, span: OpenSpan, below: ParentSpan, pending: PendingInput | undefined) {
    this.facts = facts;
    this.span = span;
    this.below = below;
    this.pending = pending;
    this.#hasOwnIds = span.context.spanId === spanIdOf(facts.who.runId);
  }

  /** The span that current events belong to. */
  get current(): OpenSpan {
    return this.chat?.span ?? this.span;
  }

  /** The only call that is open; undefined when there are none or several. */
  get onlyCall(): OpenSpan | undefined {
    return this.calls.size === 1 ? this.calls.values().next().value : undefined;
  }

  /** The parent span of a child of this call; under the run itself when the span of the call is not known. */
  contextOf(callId: string | undefined): SpanContext {
    const isFanOut = callId === FAN_OUT && this.facts.agent === FAN_OUT;
    if (callId === undefined || isFanOut) return this.span.context;
    const open = this.calls.get(callId)?.context;
    if (open !== undefined) return open;
    return this.placeOf({ callId }) ?? this.#endedCalls?.get(callId) ?? this.span.context;
  }

  /** The span of a part of it that has ended, or is in another process; undefined when ids do not follow from runs. */
  placeOf(part: SpanPart): SpanContext | undefined {
    if (!this.#hasOwnIds) return undefined;
    const { traceId, traceFlags, traceState } = this.span.context;
    const spanId = spanIdOf(this.facts.who.runId, part);
    return { traceId, spanId, traceFlags, ...(traceState !== undefined && { traceState }) };
  }

  endCall(callId: string, context: SpanContext): void {
    this.calls.delete(callId);
    if (this.#hasOwnIds) return;
    this.#endedCalls ??= new Map();
    rememberIn(this.#endedCalls, callId, context, MAX_ENDED_CALLS);
  }
}

/** Journals of earlier versions do not say what continues. */
export function unknownRun(path: string, startedAt: number): Omit<ResumedRun, "usage"> & { usage: undefined } {
  const label = path.slice(path.lastIndexOf("/") + 1);
  return { agent: label, label, model: "", call: undefined, startedAt, turns: 0, usage: undefined };
}
