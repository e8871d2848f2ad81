/**
 * A server of tools that speaks MCP by hand, for tests of the command line. Variables say how it behaves: STARTS is a file that gets one line
 * for each process, DESCRIPTION a file with the description of `echo`, EXTRA another tool, IGNORES_TERM keeps it alive.
 */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const { STARTS, DESCRIPTION, EXTRA, IGNORES_TERM } = process.env;
if (STARTS !== undefined) appendFileSync(STARTS, `${process.pid}\n`);
if (IGNORES_TERM !== undefined) {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 1000);
}

const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

function tools() {
  const description =
    DESCRIPTION !== undefined && existsSync(DESCRIPTION) ? readFileSync(DESCRIPTION, "utf8") : "Says what it is told.";
  return [
    { name: "echo", description, inputSchema: text },
    {
      name: "env",
      description: "Shows its variables.",
      inputSchema: { type: "object" },
      annotations: { readOnlyHint: true },
    },
    { name: "add.two/numbers", description: "Adds.", inputSchema: { type: "object" } },
    ...(EXTRA === undefined ? [] : [{ name: EXTRA, description: "One more.", inputSchema: { type: "object" } }]),
  ];
}

function answer({ method, params = {} }) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "toy", version: "1.0.0" },
      };
    case "tools/list":
      return { tools: tools() };
    case "tools/call":
      return { content: [{ type: "text", text: called(params) }] };
    case "ping":
      return {};
    default:
      return undefined;
  }
}

function called({ name, arguments: given = {}, _meta }) {
  if (name === "echo") return `echo: ${given.text}${_meta?.traceparent === undefined ? "" : " (traced)"}`;
  if (name === "env") return Object.keys(process.env).sort().join(" ");
  return `${name}: done`;
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined) return;
  const result = answer(message);
  const reply = result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, ...reply })}\n`);
});
