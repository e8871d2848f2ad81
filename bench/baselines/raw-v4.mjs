/** The limit of a runtime on AI SDK models: a bare loop over the streams and the messages of the model specification, V4. */

import { createAiSdkModel } from "../mock/ai-sdk-model.mjs";
import { childPlan, counters, doWork, parentPlan, workerPlan } from "../mock/brain.mjs";

const tools = { work: async () => doWork() };

export async function single(load) {
  await runLoop(createAiSdkModel(workerPlan(load)), tools, "go");
}

export async function delegate(load) {
  const child = createAiSdkModel(childPlan(load));
  const parent = createAiSdkModel(parentPlan(load, "subagent", (task) => ({ task })));
  await runLoop(parent, { subagent: ({ task }) => runLoop(child, tools, task) }, "go");
}

async function runLoop(model, tools, task) {
  const prompt = [{ role: "user", content: [{ type: "text", text: task }] }];
  for (;;) {
    const { text, calls } = await readAnswer(await model.doStream({ prompt }));
    prompt.push({ role: "assistant", content: [{ type: "text", text }, ...calls] });
    if (calls.length === 0) return text;
    const results = await Promise.all(calls.map((call) => tools[call.toolName](call.input)));
    prompt.push({ role: "tool", content: calls.map((call, index) => toToolResult(call, results[index])) });
  }
}

async function readAnswer({ stream }) {
  const reader = stream.getReader();
  let text = "";
  const calls = [];
  for (;;) {
    const { done, value: part } = await reader.read();
    if (done) return { text, calls };
    if (part.type === "text-delta") {
      text += part.delta;
      counters.deltas++;
    } else if (part.type === "tool-call") {
      const { toolCallId, toolName, input } = part;
      calls.push({ type: "tool-call", toolCallId, toolName, input: JSON.parse(input) });
    }
  }
}

function toToolResult({ toolCallId, toolName }, value) {
  return { type: "tool-result", toolCallId, toolName, output: { type: "text", value } };
}
