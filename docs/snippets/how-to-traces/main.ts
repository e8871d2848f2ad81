/** Traces of runs in a program of your own: a provider whose ids follow from the runs, and a listener. */

import { BatchSpanProcessor, InMemorySpanExporter, type ReadableSpan, TracerProvider } from "@opentelemetry/sdk-trace";
import { agent, createRuntime } from "sous";
import { runIdGenerator, traceRuns } from "sous/otel";
import { calls, says, scriptedModel } from "sous/testing";

const model = scriptedModel({
  lead: [calls("subagent_scout", { task: "Find the retries." }), says("There is one, in fetch.ts.")],
  "lead/scout": [says("fetch.ts")],
});
// This example keeps its spans in memory; yours go to a collector.
const exporter = new InMemorySpanExporter();

// #region trace
// With @opentelemetry/exporter-trace-otlp-proto: const exporter = new OTLPTraceExporter();
const tracerProvider = new TracerProvider({
  idGenerator: runIdGenerator(),
  spanProcessors: [new BatchSpanProcessor({ exporter })],
});
const scout = agent({ name: "scout", description: "Finds code.", model });
const lead = agent({ name: "lead", model, subagents: [scout] });
const runtime = createRuntime({ onEvent: traceRuns({ tracerProvider }) });
const { text } = await runtime.run(lead, "Where do we retry?");
console.log(text);
await tracerProvider.forceFlush();
// #endregion

const spans = exporter.getFinishedSpans();
const top = spans.find(({ parentSpanContext }) => parentSpanContext === undefined);
if (top !== undefined) show(top, 0);
await tracerProvider.shutdown();

function show(span: ReadableSpan, depth: number): void {
  console.log("  ".repeat(depth) + span.name);
  const below = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === span.spanContext().spanId);
  for (const each of below) show(each, depth + 1);
}
