/** A small agent of the Agent Client Protocol: `counter` counts lines, `scribe` writes a file if it may. It has no model. */

// #region agent
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [role] = process.argv.slice(2);
const sessionId = `session-of-${role}`;
const path = role === "scribe" ? "summary.md" : "payments.js";
const call = { toolCallId: "call-1", title: path, kind: role === "scribe" ? "edit" : "read", rawInput: { path } };
const options = [
  { optionId: "yes", name: "Allow", kind: "allow_once" },
  { optionId: "no", name: "Reject", kind: "reject_once" },
];
let heard; // takes the answer to our question

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (sessionUpdate, fields) =>
  send({ method: "session/update", params: { sessionId, update: { sessionUpdate, ...fields } } });

async function mayWrite(newText) {
  const toolCall = { ...call, content: [{ type: "diff", path, newText }] };
  send({ id: "may-i", method: "session/request_permission", params: { sessionId, toolCall, options } });
  const { outcome } = await new Promise((resolve) => (heard = resolve));
  return outcome.optionId === "yes";
}

async function work(text) {
  if (role === "counter") return `${readFileSync(path, "utf8").trimEnd().split("\n").length} lines`;
  if (!(await mayWrite(text))) return "not allowed";
  writeFileSync(path, `${text}\n`);
  return "written";
}

const answers = {
  initialize: () => ({ protocolVersion: 1, agentInfo: { name: role, version: "1.0.0" }, agentCapabilities: {} }),
  "session/new": () => ({ sessionId }),
  async "session/prompt"({ prompt: [{ text }] }) {
    update("tool_call", { ...call, status: "in_progress" });
    const result = await work(text);
    update("tool_call_update", {
      ...call,
      status: result === "not allowed" ? "failed" : "completed",
      rawOutput: result,
    });
    update("agent_message_chunk", { content: { type: "text", text: `${path}: ${result}.` } });
    return { stopReason: "end_turn", usage: { inputTokens: 900, outputTokens: 40, totalTokens: 940 } };
  },
};

async function answer({ id, method, params }) {
  if (answers[method] !== undefined) send({ id, result: await answers[method](params) });
  else if (id !== undefined) send({ id, error: { code: -32601, message: "Method not found" } });
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.method === undefined) heard(message.result);
  else void answer(message);
}
// #endregion
