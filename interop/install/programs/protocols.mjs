/** The parts of a server beside `sous`: tools of an MCP server, an agent over ACP, and spans. */

import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { agent, run } from "sous";
import { createAcpClient } from "sous/acp";
import { mcpTools } from "sous/mcp";
import { traceRuns } from "sous/otel";
import { calls, says, scriptedModel } from "sous/testing";

export async function answer() {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const { tools, dispose } = await mcpTools({ toy: { command: process.execPath, args: ["mcp-server.mjs"] } });
  const lead = agent({ name: "lead", model: scriptedModel({ lead: [calls("mcp__toy__look"), says("Done.")] }), tools });
  const approve = () => ({ allow: true });
  const { text } = await run(lead, "Go.", { approve, onEvent: traceRuns({ tracerProvider }) });
  await dispose();
  const args = [process.env.SOUS_COMMAND, "acp", "serve", "--model", "script/script.json"];
  const acp = createAcpClient({ servers: { sous: { command: process.execPath, args } } });
  const { content } = await acp.generate("Hello.");
  await acp.dispose();
  return { text, content, spans: exporter.getFinishedSpans().map(({ name }) => name) };
}
