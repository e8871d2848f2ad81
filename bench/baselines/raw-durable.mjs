/**
 * The limit of a durable runtime: the bare loop, with one SQLite row per message (WAL, NORMAL), checked arguments, and one
 * event in memory per delta, turn and tool call.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createBareModel } from "../mock/bare-stream.mjs";
import { childPlan, counters, doWork, parentPlan, workerPlan } from "../mock/brain.mjs";

const folder = mkdtempSync(join(tmpdir(), "bench-raw-durable-"));
const database = new DatabaseSync(join(folder, "messages.db"));
process.on("exit", () => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});
database.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE conversation (id INTEGER PRIMARY KEY, parent INTEGER, created INTEGER);
  CREATE TABLE message (conversation INTEGER NOT NULL, seq INTEGER NOT NULL, body TEXT NOT NULL);
  CREATE UNIQUE INDEX message_key ON message (conversation, seq);
`);
const insertConversation = database.prepare("INSERT INTO conversation (parent, created) VALUES (?, ?)");
const insertMessage = database.prepare("INSERT INTO message VALUES (?, ?, ?)");

const tools = { work: { accepts: ({ i }) => typeof i === "number", execute: async () => doWork() } };

export async function single(load) {
  await runLoop(createBareModel(workerPlan(load)), tools, "go", null);
}

export async function delegate(load) {
  const child = createBareModel(childPlan(load));
  const parent = createBareModel(parentPlan(load, "subagent", (task) => ({ task })));
  const subagent = {
    accepts: ({ task }) => typeof task === "string",
    execute: ({ task }, conversation) => runLoop(child, tools, task, conversation),
  };
  await runLoop(parent, { subagent }, "go", null);
}

async function runLoop(model, tools, task, parent) {
  const conversation = Number(insertConversation.run(parent, Date.now()).lastInsertRowid);
  const messages = [];
  const append = (message) => {
    insertMessage.run(conversation, messages.length, JSON.stringify(message));
    messages.push(message);
  };
  append({ role: "user", content: task });
  for (;;) {
    const started = performance.now();
    let text = "";
    const calls = [];
    for await (const part of model(messages)) {
      listen(part);
      if (part.type === "text") text += part.delta;
      else if (part.type === "call") calls.push(part);
    }
    append({ role: "assistant", content: text, calls });
    listen({ type: "turn", conversation, milliseconds: performance.now() - started });
    if (calls.length === 0) return text;
    const results = await Promise.all(calls.map((call) => runTool(tools[call.name], call, conversation)));
    for (let index = 0; index < calls.length; index++) {
      append({ role: "tool", id: calls[index].id, content: results[index] });
    }
  }
}

async function runTool(tool, call, conversation) {
  const input = JSON.parse(call.json);
  if (!tool.accepts(input)) throw new Error(`Bad input for ${call.name}: ${call.json}`);
  const result = await tool.execute(input, conversation);
  listen({ type: "tool", conversation, id: call.id });
  return result;
}

function listen(event) {
  if (event.type === "text") counters.deltas++;
}
