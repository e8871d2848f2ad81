/** A small MCP server without an SDK. Its tool `look` has an output schema, which the client checks. */

import { createInterface } from "node:readline";

const outputSchema = { type: "object", properties: { seen: { type: "string" } }, required: ["seen"] };
const look = { name: "look", description: "Looks.", inputSchema: { type: "object", properties: {} }, outputSchema };
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "toy", version: "1" },
  }),
  "tools/list": () => ({ tools: [look] }),
  "tools/call": () => ({ content: [{ type: "text", text: "A toy." }], structuredContent: { seen: "A toy." } }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: answers[method]?.(params) ?? {} })}\n`);
});
