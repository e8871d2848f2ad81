/** A worker that runs a tree with a child, with spans. It cannot start programs, so `sous/mcp` and `sous/acp` are only loaded. */

import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { agent, run } from "sous";
import { createAcpClient } from "sous/acp";
import { mcpTools } from "sous/mcp";
import { traceRuns } from "sous/otel";
import { says, scriptedModel } from "sous/testing";
import { answer } from "./tree.mjs";

async function fetch(request) {
  if (new URL(request.url).pathname === "/tree") return Response.json(await answer());
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const lead = agent({ name: "lead", model: scriptedModel({ lead: [says("Traced.")] }) });
  const { text } = await run(lead, "Go.", { onEvent: traceRuns({ tracerProvider }) });
  const spans = exporter.getFinishedSpans().map(({ name }) => name);
  return Response.json({ text, spans, loaded: [typeof mcpTools, typeof createAcpClient] });
}

// biome-ignore lint/style/noDefaultExport: a worker is the default export of its module.
export default { fetch };
