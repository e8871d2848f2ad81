/** OpenAI Agents SDK: `run` on an `Agent`; delegation is `asTool`. */

import { Agent, run, setTracingDisabled, tool, Usage } from "@openai/agents";
import { z } from "zod";
import { childPlan, counters, createBrain, DELTA, doWork, parentPlan, textOf, workerPlan } from "../../mock/brain.mjs";

// On by default, and it exports over the network.
setTracingDisabled(true);

const maxTurns = 100_000;
const work = tool({
  name: "work",
  description: "work",
  parameters: z.object({ i: z.number() }),
  execute: async () => doWork(),
});

export async function single(load) {
  await drive(new Agent({ name: "agent", model: createModel(workerPlan(load)), tools: [work] }));
}

export async function delegate(load) {
  const child = new Agent({
    name: "child",
    instructions: "child",
    model: createModel(childPlan(load)),
    tools: [work],
  });
  const subagent = child.asTool({ toolName: "subagent", toolDescription: "delegate", runOptions: { maxTurns } });
  const parent = new Agent({
    name: "parent",
    instructions: "parent",
    model: createModel(parentPlan(load, "subagent", (task) => ({ input: task }))),
    tools: [subagent],
  });
  await drive(parent);
}

async function drive(agent) {
  const result = await run(agent, "go", { stream: true, maxTurns });
  for await (const event of result) {
    if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") counters.deltas++;
  }
  await result.completed;
}

const USAGE = { requests: 1, inputTokens: 10, outputTokens: 10, totalTokens: 20 };

function createModel(plan) {
  const brain = createBrain(plan, countResults);
  return {
    async getResponse({ input }) {
      const step = brain.next(input);
      if (step.wait) await step.wait();
      return { usage: new Usage(USAGE), output: outputOf(step), responseId: "response" };
    },
    async *getStreamedResponse({ input }) {
      const step = brain.next(input);
      if (step.wait) await step.wait();
      yield { type: "response_started" };
      for (let index = 0; index < step.deltas; index++) yield { type: "output_text_delta", delta: DELTA };
      yield { type: "response_done", response: { id: "response", usage: { ...USAGE }, output: outputOf(step) } };
    },
  };
}

function outputOf(step) {
  const content = [{ type: "output_text", text: textOf(step) }];
  return [{ type: "message", role: "assistant", status: "completed", content }, ...step.calls.map(toFunctionCall)];
}

function toFunctionCall({ id, name, json }) {
  return { type: "function_call", callId: id, name, arguments: json, status: "completed" };
}

function countResults(input) {
  if (!Array.isArray(input)) return 0;
  let count = 0;
  for (const item of input) if (item.type === "function_call_result") count++;
  return count;
}
