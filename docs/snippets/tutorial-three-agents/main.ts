/** A lead, a child of its own and two external agents, in one tree. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, createRuntime, ToolRegistry, tool } from "sous";
import { createAcpClient } from "sous/acp";
import { registerSubagentTools } from "sous/embed";
import { calls, says, scriptedModel } from "sous/testing";
import { readOnlyTools } from "sous/tools";

const cwd = mkdtempSync(join(tmpdir(), "sous-example-"));
process.on("exit", () => rmSync(cwd, { recursive: true }));
writeFileSync(
  join(cwd, "payments.js"),
  "export const pay = (order) =>\n  retry(() => post(order), { attempts: 5 });\n",
);
const script = join(import.meta.dirname, "agent.mjs");

// The tool that the scribe may be granted: it asks in the words of this tool, and the person or a rule decides.
const writeFile = tool({
  name: "write_file",
  description: "Writes a file.",
  tier: "confirm",
  effect: "idempotent",
  inputSchema: { type: "object", properties: { path: { type: "string" }, content: { type: "string" } } },
  execute: () => "written",
});

// #region client
await using servers = createAcpClient({
  servers: {
    counter: { command: process.execPath, args: [script, "counter"] },
    scribe: { command: process.execPath, args: [script, "scribe"], timeoutMs: 60_000 },
  },
});
// #endregion
const model = scriptedModel({
  lead: [
    calls("subagent_reader", { task: "Does payments.js retry?" }),
    calls("subagent_counter", { task: "How long is payments.js?" }),
    calls("subagent_scribe", { task: "payments.js retries." }),
    says("payments.js has 2 lines and retries."),
  ],
  chief: [calls("subagent_delegate", { task: "How long is it?", description: "a count" }), says("2 lines.")],
  "lead/reader": [calls("read_file", { path: "payments.js" }), says("Yes, five times.")],
});

// #region runtime
const reader = agent({ name: "reader", description: "Reads.", model, tools: readOnlyTools() });
const counter = agent({ name: "counter", description: "Counts.", model: "external/counter", tools: readOnlyTools() });
const scribe = agent({ name: "scribe", description: "Writes.", model: "external/scribe", tools: [writeFile] });
const lead = agent({ name: "lead", model, subagents: [reader, counter, scribe] });

const runtime = createRuntime({
  models: { external: servers },
  approve({ path, toolName, input }) {
    console.log(`${path} asks: ${toolName} ${JSON.stringify(input)}`);
    return { allow: true };
  },
  host: { cwd },
});
// #endregion
const { text, agents } = await runtime.run(lead, "Look at payments.js.", {
  onEvent(event) {
    if (event.type !== "outside-call" || event.phase === "start") return;
    console.log(`${event.path} did: ${event.kind} ${event.title}`);
  },
});
console.log(text);
for (const { path, status } of agents) console.log(`${path}: ${status}`);

// #region embed
const registry = new ToolRegistry();
registerSubagentTools(registry, {
  model,
  client: servers,
  serverName: "counter",
  callbacks: {
    onSubagentStart: ({ description, mode }) => console.log(`${description}: started (${mode})`),
    onSubagentToolCallEnd: (_id, { toolName, isError }) => console.log(`${isError ? "✗" : "✓"} ${toolName}`),
    onSubagentComplete: (_id, { text: report }) => console.log(report),
  },
});
const chief = agent({ name: "chief", model, tools: [...registry] });
console.log((await runtime.run(chief, "How long is payments.js?")).text);
// #endregion
