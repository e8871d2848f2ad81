/** VoltAgent: an `Agent` with `subAgents`, reached through its `delegate_task` tool. */

import { Agent, createTool } from "@voltagent/core";
import { z } from "zod";
import { createAiSdkModel } from "../../mock/ai-sdk-model.mjs";
import { childPlan, counters, doWork, parentPlan, workerPlan } from "../../mock/brain.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;

/** VoltAgent builds on `ai` 6, whose models follow the third version of the specification. */
const SPECIFICATION = "v3";
const maxSteps = 100_000;
const work = createTool({
  name: "work",
  description: "work",
  parameters: z.object({ i: z.number() }),
  execute: async () => doWork(),
});

export async function single(load) {
  const agent = createAgent("agent", { model: createAiSdkModel(workerPlan(load), SPECIFICATION), tools: [work] });
  const { textStream } = await agent.streamText("go", { maxSteps });
  for await (const delta of textStream) if (delta) counters.deltas++;
}

export async function delegate(load) {
  const child = createAgent("child", {
    purpose: "delegate",
    model: createAiSdkModel(childPlan(load), SPECIFICATION),
    tools: [work],
  });
  const inputFor = (task) => ({ task, targetAgents: ["child"] });
  const parent = createAgent("parent", {
    model: createAiSdkModel(parentPlan(load, "delegate_task", inputFor), SPECIFICATION),
    subAgents: [child],
  });
  const { textStream } = await parent.streamText("go", { maxSteps });
  for await (const _delta of textStream);
}

function createAgent(name, options) {
  return new Agent({ name, instructions: name, memory: false, maxSteps, ...options });
}
