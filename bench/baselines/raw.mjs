/** The limit: a bare loop that reads the model's stream, runs the tools, appends the messages, and nothing else. */

import { createBareModel } from "../mock/bare-stream.mjs";
import { childPlan, counters, doWork, parentPlan, workerPlan } from "../mock/brain.mjs";

const tools = { work: async () => doWork() };

export async function single(load) {
  await runLoop(createBareModel(workerPlan(load)), tools, "go");
}

export async function delegate(load) {
  const child = createBareModel(childPlan(load));
  const parent = createBareModel(parentPlan(load, "subagent", (task) => ({ task })));
  await runLoop(parent, { subagent: ({ task }) => runLoop(child, tools, task) }, "go");
}

async function runLoop(model, tools, task) {
  const messages = [{ role: "user", content: task }];
  for (;;) {
    let text = "";
    const calls = [];
    for await (const part of model(messages)) {
      if (part.type === "text") {
        text += part.delta;
        counters.deltas++;
      } else if (part.type === "call") calls.push(part);
    }
    messages.push({ role: "assistant", content: text, calls });
    if (calls.length === 0) return text;
    const results = await Promise.all(calls.map(async (call) => tools[call.name](JSON.parse(call.json))));
    for (let index = 0; index < calls.length; index++) {
      messages.push({ role: "tool", id: calls[index].id, content: results[index] });
    }
  }
}
