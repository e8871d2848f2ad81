/** A client of `sous mcp serve` as a process of its own: calls one tool, and prints what it hears, one JSON value a line. */

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

/** What the client prints. */
export type Heard = { progress: { progress: number; message?: string } } | { result: Called };
export type Called = { content?: unknown; structuredContent?: Record<string, unknown>; isError?: boolean };

const [command = "", name = "", task = ""] = process.argv.slice(2);
const client = new Client({ name: "interop", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command, stderr: "ignore" }));
const result = await client.callTool(
  { name, arguments: { task } },
  { onprogress: (progress) => console.log(JSON.stringify({ progress })), timeout: 80_000 },
);
console.log(JSON.stringify({ result }));
await client.close();
