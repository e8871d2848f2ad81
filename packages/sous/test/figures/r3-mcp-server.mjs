/**
 * An MCP server that does not want to end: it ignores TERM, INT, HUP and the end of its input, and its tool `start` begins a
 * command in the background and never answers.
 */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE"]) process.on(signal, () => {});
setInterval(() => {}, 1_000);

const inputSchema = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "stubborn", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "start", description: "Starts a command.", inputSchema }] }),
  ping: () => ({}),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "tools/call") spawn("/bin/bash", ["-c", params.arguments.command], { stdio: "ignore" });
  const result = answers[method]?.(params);
  if (id !== undefined && result !== undefined)
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
});
