/** Spans of a run with a tracer provider of `@opentelemetry/sdk-trace-node` 2. */

import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { agent, run } from "sous";
import { traceRuns } from "sous/otel";
import { says, scriptedModel } from "sous/testing";

const exporter = new InMemorySpanExporter();
const tracerProvider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const lead = agent({ name: "lead", model: scriptedModel({ lead: [says("Traced.")] }) });
await run(lead, "Go.", { onEvent: traceRuns({ tracerProvider }) });
console.log(JSON.stringify(exporter.getFinishedSpans().map(({ name }) => name)));
