/**
 * An agent of the Agent Client Protocol, as another program would be: it keeps its sessions in a folder, logs every prompt, asks
 * before it acts, acts, and answers. Its folder is its first argument.
 */

import { appendFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

type Incoming = { id?: number; method?: string; params?: Record<string, unknown>; result?: unknown };

const [, , folder = "."] = process.argv;
const sessions = join(folder, "sessions");
const waiting = new Map<number, (result: unknown) => void>();
let lastId = 1000;
mkdirSync(sessions, { recursive: true });

createInterface({ input: process.stdin })
  .on("line", (line) => void receive(JSON.parse(line) as Incoming))
  .on("close", () => process.exit());

async function receive({ id, method, params = {}, result }: Incoming): Promise<void> {
  if (method === undefined) return waiting.get(id ?? 0)?.(result);
  if (id === undefined) return;
  const sessionId = String(params.sessionId ?? "");
  switch (method) {
    case "initialize":
      return answer(id, {
        protocolVersion: 1,
        agentCapabilities: { loadSession: true },
        agentInfo: { name: "worker" },
      });
    case "session/new": {
      const made = `s-${process.pid}-${id}`;
      writeFileSync(join(sessions, made), "");
      return answer(id, { sessionId: made });
    }
    case "session/load":
      if (existsSync(join(sessions, sessionId))) return answer(id, {});
      return send({ id, error: { code: -32002, message: "no such session" } });
    case "session/prompt":
      return answer(id, await work(sessionId, params.prompt as { text: string }[]));
    default:
      return send({ id, error: { code: -32601, message: "Method not found" } });
  }
}

async function work(sessionId: string, prompt: readonly { text: string }[]): Promise<object> {
  const text = prompt.map((part) => part.text).join("");
  appendFileSync(join(folder, "prompts.log"), `${JSON.stringify({ sessionId, text })}\n`);
  const toolCall = { toolCallId: `t${lastId}`, title: "append", kind: "execute", rawInput: { command: "date" } };
  for (const word of ["I ", "look ", "first."])
    update(sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "text", text: word } });
  update(sessionId, { sessionUpdate: "plan", entries: [{ content: "look", status: "pending", priority: "high" }] });
  update(sessionId, { sessionUpdate: "tool_call", ...toolCall, status: "pending" });
  const options = [
    { optionId: "yes", kind: "allow_once", name: "Yes" },
    { optionId: "no", kind: "reject_once", name: "No" },
  ];
  const asked = (await ask("session/request_permission", { sessionId, toolCall, options })) as {
    outcome?: { optionId?: string };
  };
  const isAllowed = asked.outcome?.optionId === "yes";
  if (isAllowed) appendFileSync(join(folder, "deeds.log"), `${JSON.stringify(text)}\n`);
  update(sessionId, {
    sessionUpdate: "tool_call_update",
    toolCallId: toolCall.toolCallId,
    status: isAllowed ? "completed" : "failed",
  });
  update(sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "text", text: `Done: ${text}` } });
  return { stopReason: "end_turn", usage: { inputTokens: 90, outputTokens: 10, totalTokens: 100 } };
}

function ask(method: string, params: object): Promise<unknown> {
  lastId += 1;
  const id = lastId;
  send({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

function update(sessionId: string, given: object): void {
  send({ method: "session/update", params: { sessionId, update: given } });
}

function answer(id: number, result: object): void {
  send({ id, result });
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}
