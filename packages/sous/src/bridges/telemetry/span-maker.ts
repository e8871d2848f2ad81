/** Starts spans: under which one, with which ids, and with the attributes that all have. */

import {
  type Attributes,
  type Context,
  context,
  type Link,
  propagation,
  type Span,
  type SpanContext,
  SpanKind,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { RunIdentity } from "../../core/event.ts";
import { isExternalModel } from "../../core/model.ts";
import { parseTraceparent, type SpanPart, spanIdOf, traceIdOf } from "../../core/trace-context.ts";
import { noUsage } from "../../core/usage.ts";
import { requestModel } from "./names.ts";
import { withIds } from "./run-ids.ts";
import { cutText } from "./span-content.ts";
import { ATTRIBUTES, type SpanAttributes, type SpanName } from "./span-names.ts";
import { hrTime, type OpenChat, OpenSpan, type TracedRun } from "./traced-run.ts";

/** The settings that all spans share. */
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
  /** The word behind the operation in the name of the span. */
  readonly of: string;
  readonly who: RunIdentity;
  readonly part: SpanPart;
  /** Undefined for a root without one. */
  readonly parent: ParentSpan | undefined;
  readonly time: number;
  readonly attributes: SpanAttributes;
};

/** `extension` is what an external agent does by itself. */
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

  /** Makes the parent for spans below this one, once for a run: most spans lie directly below one. */
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
    // Every model is asked for a stream; how an external agent asks its own is not known.
    const stream = isExternalModel(model) ? {} : { "gen_ai.request.stream": true };
    const all = { ...shared, ...run.facts.ofModel, ...stream, ...attributes };
    const place = { of: requestModel(model), who, part: { seq }, parent: run.below };
    const span = this.start({ operation: "chat", ...place, time, attributes: all }, SpanKind.CLIENT);
    return { span, usage: noUsage(), failure: undefined };
  }

  startTool(run: TracedRun, part: SpanPart, time: number, { callId: id, name: tool, type, input }: NewCall): OpenSpan {
    // Models and external agents choose both, for tools that do not exist too.
    const [callId, name] = [cutText(id, MAX_NAME_BYTES), cutText(tool, MAX_NAME_BYTES)];
    const { who, shared } = run.facts;
    const attributes: SpanAttributes = {
      ...shared,
      "gen_ai.tool.name": name,
      "gen_ai.tool.call.id": callId,
      "gen_ai.tool.type": type,
      ...(input !== undefined && { "gen_ai.tool.call.arguments": input }),
    };
    const about = { operation: "execute_tool", of: name, who, part, parent: run.below, time, attributes } as const;
    return this.start(about, SpanKind.INTERNAL);
  }
}

/** A span of another process. */
export function remoteSpan(traceparent: string | undefined): SpanContext | undefined {
  const place = traceparent === undefined ? undefined : parseTraceparent(traceparent);
  if (place === undefined) return undefined;
  const { traceId, spanId, isSampled } = place;
  return { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true };
}

const MAX_ENTRIES = 16;
const MAX_VALUE = 256;

/** Baggage as attributes: entries of the text, else of the context. Names that sous uses itself are left out. */
function baggageAttributes(text: string | undefined, context: Context): Attributes {
  const entries = text === undefined ? entriesOf(context) : parseBaggage(text);
  const taken = entries.filter(([name]) => name !== "" && !Object.hasOwn(ATTRIBUTES, name)).slice(0, MAX_ENTRIES);
  return Object.fromEntries(taken.map(([name, value]) => [name, value.slice(0, MAX_VALUE).toWellFormed()]));
}

function entriesOf(context: Context): [string, string][] {
  return (propagation.getBaggage(context)?.getAllEntries() ?? []).map(([name, { value }]) => [name, value]);
}

/** `name=value;property,name=value`, values percent-encoded. What cannot be read is left out. */
function parseBaggage(text: string): [string, string][] {
  return text.split(",").flatMap((entry) => {
    const [pair = ""] = entry.split(";", 1);
    const equals = pair.indexOf("=");
    if (equals < 1) return [];
    try {
      return [[pair.slice(0, equals).trim(), decodeURIComponent(pair.slice(equals + 1).trim())] as [string, string]];
    } catch {
      return [];
    }
  });
}
