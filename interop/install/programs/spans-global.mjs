/** Spans of a run with the provider that `start(spanProcessors)` of `register.mjs` makes the global one. */

import { InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { agent, run } from "sous";
import { traceRuns } from "sous/otel";
import { says, scriptedModel } from "sous/testing";
import { start } from "./register.mjs";

const exporter = new InMemorySpanExporter();
start([new SimpleSpanProcessor(exporter)]);
const lead = agent({ name: "lead", model: scriptedModel({ lead: [says("Traced.")] }) });
await run(lead, "Go.", { onEvent: traceRuns() });
console.log(JSON.stringify(exporter.getFinishedSpans().map(({ name }) => name)));
process.exit();
