/**
 * A small MCP server, written without the SDK. Its first argument is a folder: it appends its process id to `started` there. Its
 * tool `meet` makes the file `met` when two calls of it are open, and answers both when there is `go`.
 */

import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const folder = process.argv[2];
appendFileSync(join(folder, "started"), `${process.pid}\n`);

const inputSchema = { type: "object", properties: {} };
const tools = [{ name: "meet", description: "Meets another caller.", inputSchema }];
const waiting = [];

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") {
    const serverInfo = { name: "toy", version: "1" };
    answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
  } else if (method === "tools/list") answer(id, { tools });
  else if (method === "tools/call") meet(id);
  else if (id !== undefined) answer(id, {});
});

function meet(id) {
  waiting.push(id);
  if (waiting.length !== 2) return;
  writeFileSync(join(folder, "met"), "");
  const timer = setInterval(() => {
    if (!existsSync(join(folder, "go"))) return;
    clearInterval(timer);
    for (const each of waiting.splice(0)) answer(each, { content: [{ type: "text", text: `met at ${process.pid}` }] });
  }, 10);
}

function answer(id, result) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
}
