/** Spans of a run with the provider that `start(spanProcessors)` of `register.mjs` makes the global one. */

import { InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { agent, run } from "sous";
import { traceRuns } from "sous/otel";
import { says, scriptedModel } from "sous/testing";
import { start } from "./register.mjs";

const exporter = new InMemorySpanExporter();
const processor = new SimpleSpanProcessor(exporter);
start([processor]);
const lead = agent({ name: "lead", model: scriptedModel({ lead: [says("Traced.")] }) });
await run(lead, "Go.", { onEvent: traceRuns() });
// It waits until the attributes of the machine are known.
await processor.forceFlush();
console.log(JSON.stringify(exporter.getFinishedSpans().map(({ name }) => name)));
process.exit();
