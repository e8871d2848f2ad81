/** A small MCP server: one tool that knows the weather. A real one is a package, started with `npx`. */

import { createInterface } from "node:readline";

type Request = { id?: number; method: string; params?: { arguments?: { city?: string } } };

const answers: Record<string, (request: Request) => unknown> = {
  initialize: () => ({
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "weather", version: "1.0.0" },
  }),
  "tools/list": () => ({
    tools: [
      {
        name: "get_forecast",
        description: "The weather of tomorrow in a city.",
        inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      },
    ],
  }),
  "tools/call": ({ params }) => ({ content: [{ type: "text", text: `Sunny in ${params?.arguments?.city}.` }] }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const request: Request = JSON.parse(line);
  const result = answers[request.method]?.(request);
  if (request.id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id: request.id, result }));
});
