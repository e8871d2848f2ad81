/** Starts spans: under which one, with which ids, and with the attributes that all have. */

import {
  type Attributes,
  type Context,
  context,
  type Link,
  type Span,
  type SpanContext,
  SpanKind,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { RunIdentity } from "../core/event.ts";
import { isOutsideModel } from "../core/model.ts";
import { parseTraceparent, type SpanPart, spanIdOf, traceIdOf } from "../core/trace-context.ts";
import { noUsage } from "../core/usage.ts";
import { baggageAttributes } from "./baggage.ts";
import { providerName, requestModel } from "./names.ts";
import { hrTime, OpenSpan } from "./open-span.ts";
import { withIds } from "./run-ids.ts";
import { cutText } from "./span-content.ts";
import type { SpanAttributes, SpanName } from "./span-names.ts";
import type { OpenChat, TracedRun } from "./traced-run.ts";

/** What all spans have in common. */
export type MakerOptions = {
  readonly tracerProvider?: TracerProvider | undefined;
  readonly observationType?: boolean | undefined;
  readonly parent?: Context | undefined;
  readonly baggage?: string | undefined;
};

/** A span that others lie under. */
export type ParentSpan = { readonly traceId: string; readonly context: Context };

export type NewSpan = {
  readonly operation: SpanName;
  /** Behind the operation in its name. */
  readonly of: string;
  readonly who: RunIdentity;
  readonly part: SpanPart;
  /** Undefined for a root without one. */
  readonly parent: ParentSpan | undefined;
  readonly time: number;
  readonly attributes: SpanAttributes;
};

/** `extension` is what an agent outside does by itself. */
export type NewCall = {
  readonly callId: string;
  readonly name: string;
  readonly type: "function" | "extension";
  /** The input as JSON, when content is captured. */
  readonly input: string | undefined;
};

const MAX_NAME_BYTES = 256;

const OBSERVATION_TYPES: Readonly<Record<SpanName, string>> = {
  invoke_agent: "agent",
  chat: "generation",
  execute_tool: "tool",
};

export class SpanMaker {
  readonly #tracer: Tracer;
  readonly #parent: Context;
  readonly #hasParent: boolean;
  readonly #hasObservationType: boolean;
  readonly #baggage: Attributes;

  constructor({ tracerProvider, observationType, parent, baggage }: MakerOptions) {
    this.#tracer = (tracerProvider ?? trace.getTracerProvider()).getTracer("sous");
    this.#parent = parent ?? context.active();
    this.#hasParent = parent !== undefined;
    this.#hasObservationType = observationType === true;
    this.#baggage = baggageAttributes(baggage, this.#parent);
  }

  start({ operation, of, who, part, parent, time, attributes }: NewSpan, kind: SpanKind, links: Link[] = []): OpenSpan {
    // A span below another is in its trace, and the provider does not ask for one.
    const traceId = parent?.traceId ?? traceIdOf(who.runId);
    const ids = { traceId, spanId: spanIdOf(who.runId, part) };
    const all = {
      ...this.#baggage,
      ...attributes,
      "gen_ai.operation.name": operation,
      "sous.run.id": who.runId,
    } as Attributes;
    if (this.#hasObservationType) all["langfuse.observation.type"] = OBSERVATION_TYPES[operation];
    const options = { kind, attributes: all, links, startTime: hrTime(time) };
    const under = parent?.context ?? this.#parent;
    // After a crash the name of a tool may not be known.
    const name = of === "" ? operation : `${operation} ${of}`;
    return new OpenSpan(withIds(ids, (): Span => this.#tracer.startSpan(name, options, under)));
  }

  /** Made once for a run: most spans lie directly below one. */
  below(span: SpanContext): ParentSpan {
    return { traceId: span.traceId, context: trace.setSpanContext(this.#parent, span) };
  }

  /** The trace that a root was started in, unless the caller names another. */
  remoteParent(traceparent: string | undefined): SpanContext | undefined {
    return this.#hasParent ? undefined : remoteSpan(traceparent);
  }

  /** A question to the model, which begins with the event `seq`. */
  startChat(run: TracedRun, seq: number, time: number, attributes: SpanAttributes): OpenChat {
    const { who, model, shared } = run.facts;
    // Every model is asked for a stream; how an agent outside asks its own is not known.
    const stream = isOutsideModel(model) ? {} : { "gen_ai.request.stream": true };
    const all = { ...shared, ...run.facts.ofModel, ...stream, ...attributes };
    const span = this.start(
      { operation: "chat", of: requestModel(model), who, part: { seq }, parent: run.below, time, attributes: all },
      SpanKind.CLIENT,
    );
    return { span, usage: noUsage(), failure: undefined };
  }

  startTool(run: TracedRun, part: SpanPart, time: number, { callId: id, name: tool, type, input }: NewCall): OpenSpan {
    // Models and agents outside choose both, for tools that do not exist too.
    const [callId, name] = [cutText(id, MAX_NAME_BYTES), cutText(tool, MAX_NAME_BYTES)];
    const { who, shared } = run.facts;
    const attributes: SpanAttributes = {
      ...shared,
      "gen_ai.tool.name": name,
      "gen_ai.tool.call.id": callId,
      "gen_ai.tool.type": type,
      ...(input !== undefined && { "gen_ai.tool.call.arguments": input }),
    };
    return this.start(
      { operation: "execute_tool", of: name, who, part, parent: run.below, time, attributes },
      SpanKind.INTERNAL,
    );
  }
}

/** A span of another process. */
export function remoteSpan(traceparent: string | undefined): SpanContext | undefined {
  const place = traceparent === undefined ? undefined : parseTraceparent(traceparent);
  if (place === undefined) return undefined;
  const { traceId, spanId, isSampled } = place;
  return { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true };
}

export function modelAttributes(model: string): SpanAttributes {
  return { "gen_ai.provider.name": providerName(model), "gen_ai.request.model": requestModel(model) };
}

/** What all spans of a run say. */
export function sharedAttributes(conversationId: string, agent: string): SpanAttributes {
  return { "gen_ai.conversation.id": conversationId, "gen_ai.agent.name": agent };
}
