/** Spans in memory, drawn as a tree and compared with the journal they were made from. */

import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
  type TracerProviderOptions,
} from "@opentelemetry/sdk-trace";
import { runIdGenerator } from "../../../../src/bridges/telemetry/run-ids.ts";
import { traceRuns } from "../../../../src/bridges/telemetry/spans.ts";
import type { TraceOptions } from "../../../../src/bridges/telemetry/trace-options.ts";
import type { EventListener, EventOf, StoredEvent } from "../../../../src/core/event.ts";

export type Traced = {
  readonly provider: TracerProvider;
  readonly onEvent: EventListener;
  /** Those that have ended, in this order. */
  readonly spans: readonly ReadableSpan[];
};

/** One process that traces: a provider with the ids of runs, unless another generator is given, and a listener. */
export function tracedProcess(options: TraceOptions = {}, provided: Partial<TracerProviderOptions> = {}): Traced {
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [new SimpleSpanProcessor({ exporter })];
  const provider = new TracerProvider({ idGenerator: runIdGenerator(), spanProcessors, ...provided });
  const onEvent = traceRuns({ tracerProvider: provider, ...options });
  return {
    provider,
    onEvent,
    get spans() {
      return exporter.getFinishedSpans();
    },
  };
}

/** All spans of these events, by one process. */
export function spansOf(events: Iterable<StoredEvent>, options: TraceOptions = {}): readonly ReadableSpan[] {
  const process = tracedProcess(options);
  for (const event of events) process.onEvent(event);
  return process.spans;
}

/** One line a span, below the one it lies under, with its events and links. */
export function drawSpans(spans: readonly ReadableSpan[]): string {
  const known = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const isTop = ({ parentSpanContext }: ReadableSpan) =>
    parentSpanContext === undefined || !known.has(parentSpanContext.spanId);
  const draw = (span: ReadableSpan, depth: number): string[] => [
    `${"  ".repeat(depth)}${lineOf(span, known)}`,
    ...span.events.map(({ name, attributes }) => `${"  ".repeat(depth)}  · ${name} ${words(attributes)}`.trimEnd()),
    ...sorted(spans.filter((each) => each.parentSpanContext?.spanId === span.spanContext().spanId)).flatMap((each) =>
      draw(each, depth + 1),
    ),
  ];
  return sorted(spans.filter(isTop))
    .flatMap((span) => draw(span, 0))
    .join("\n");
}

/** By their beginning, and the shorter path first. */
function sorted(spans: readonly ReadableSpan[]): ReadableSpan[] {
  const time = ({ startTime: [seconds, nanos] }: ReadableSpan) => seconds * 1e3 + nanos / 1e6;
  const place = ({ name, attributes }: ReadableSpan) => `${attributes["sous.run.path"] ?? ""} ${name}`;
  return [...spans].sort((a, b) => time(a) - time(b) || (place(a) < place(b) ? -1 : 1));
}

const SHOWN = ["sous.run.path", "sous.outcome", "sous.turns", "error.type", "sous.unanswered"] as const;

function lineOf(span: ReadableSpan, known: ReadonlyMap<string, ReadableSpan>): string {
  const { name, kind, status, attributes, links } = span;
  const shown = SHOWN.flatMap((each) => (attributes[each] === undefined ? [] : [String(attributes[each])]));
  const failed = status.code === SpanStatusCode.ERROR ? ["ERROR"] : [];
  const linked = links.map(({ context, attributes: about }) => {
    const to = known.get(context.spanId);
    return `→ ${about?.["sous.link"]} ${to === undefined ? "elsewhere" : (to.attributes["sous.run.path"] ?? to.name)}`;
  });
  const client = kind === SpanKind.CLIENT && !name.startsWith("chat") ? ["CLIENT"] : [];
  return [name, ...client, ...failed, ...shown, ...linked].join(" | ");
}

function words(attributes: object | undefined): string {
  return Object.entries(attributes ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}

/** One sentence for everything that the spans of a whole journal say otherwise than the journal. */
export function traceProblems(spans: readonly ReadableSpan[], journal: readonly StoredEvent[]): string[] {
  const byId = new Map<string, ReadableSpan>();
  const problems: string[] = [];
  for (const span of spans) {
    const { spanId } = span.spanContext();
    if (byId.has(spanId)) problems.push(`${span.name}: the id ${spanId} twice`);
    byId.set(spanId, span);
    const parent = span.parentSpanContext;
    if (
      parent !== undefined &&
      parent.isRemote !== true &&
      !spans.some((each) => each.spanContext().spanId === parent.spanId)
    )
      problems.push(`${span.name} of ${span.attributes["sous.run.id"]}: an orphan`);
    if (parent !== undefined && parent.traceId !== span.spanContext().traceId)
      problems.push(`${span.name}: two traces`);
  }
  const starts = ofType(journal, "run-start");
  const runs = new Map(
    spans.filter(isOperation("invoke_agent")).map((span) => [String(span.attributes["sous.run.id"]), span]),
  );
  if (runs.size !== starts.length) problems.push(`${runs.size} spans of runs, ${starts.length} runs`);
  for (const start of starts) {
    const span = runs.get(start.runId);
    if (span === undefined) {
      problems.push(`${start.path} has no span`);
      continue;
    }
    const parent = byId.get(span.parentSpanContext?.spanId ?? "");
    if (start.parentId !== null && parent?.attributes["sous.run.id"] !== start.parentId)
      problems.push(`${start.path} lies under ${parent?.name}`);
    if (start.call !== undefined && parent?.attributes["gen_ai.tool.call.id"] !== start.call.callId)
      problems.push(`${start.path} does not lie under its call but under ${parent?.name}`);
    problems.push(...usageProblems(start, spans, journal));
  }
  const calls = ofType(journal, "tool-call-end").length;
  const tools = spans
    .filter(isOperation("execute_tool"))
    .filter((span) => span.attributes["gen_ai.tool.type"] === "function");
  if (tools.length !== calls) problems.push(`${tools.length} spans of calls, ${calls} calls`);
  return problems;
}

function usageProblems(
  { runId, path }: StoredEvent,
  spans: readonly ReadableSpan[],
  journal: readonly StoredEvent[],
): string[] {
  const end = ofType(journal, "run-end").find((each) => each.runId === runId);
  if (end === undefined) return [`${path} has not ended`];
  const chats = spans.filter(isOperation("chat")).filter((span) => span.attributes["sous.run.id"] === runId);
  const sum = (name: string) => chats.reduce((all, span) => all + Number(span.attributes[name] ?? 0), 0);
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = end.usage;
  const pairs: [string, number][] = [
    ["gen_ai.usage.input_tokens", inputTokens],
    ["gen_ai.usage.output_tokens", outputTokens],
    ["gen_ai.usage.cache_read.input_tokens", cachedInputTokens],
    ["gen_ai.usage.cache_creation.input_tokens", cacheWriteTokens],
  ];
  return pairs.flatMap(([name, all]) => (sum(name) === all ? [] : [`${path}: ${name} ${sum(name)}, not ${all}`]));
}

function isOperation(name: string): (span: ReadableSpan) => boolean {
  return ({ attributes }) => attributes["gen_ai.operation.name"] === name;
}

function ofType<Type extends StoredEvent["type"]>(events: readonly StoredEvent[], type: Type): EventOf<Type>[] {
  return events.filter((event) => event.type === type) as EventOf<Type>[];
}
