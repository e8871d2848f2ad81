/** Traces with OpenTelemetry installed beside sous. */

import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { agent, run } from "sous";
import { runIdGenerator, traceRuns } from "sous/otel";
import { says, scriptedModel } from "sous/testing";

const exporter = new InMemorySpanExporter();
const spanProcessors = [new SimpleSpanProcessor({ exporter })];
const tracerProvider = new TracerProvider({ idGenerator: runIdGenerator(), spanProcessors });
const lead = agent({ name: "lead", model: scriptedModel({ lead: [says("Seen.")] }) });
const { runId } = await run(lead, "Look.", { onEvent: traceRuns({ tracerProvider }) });
const spans = exporter.getFinishedSpans();
const isOfRun = spans.every(({ attributes }) => attributes["sous.run.id"] === runId);
console.log(`otel: ${spans.map(({ name }) => name).join(", ")}, ${isOfRun}`);
