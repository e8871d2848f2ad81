/** Mastra: an `Agent` with `agents`, which become tools named `agent-<key>`. */

import { Agent } from "@mastra/core/agent";
import { noopLogger } from "@mastra/core/logger";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { createAiSdkModel } from "../../mock/ai-sdk-model.mjs";
import { childPlan, counters, doWork, parentPlan, workerPlan } from "../../mock/brain.mjs";

const maxSteps = 100_000;
const work = createTool({
  id: "work",
  description: "work",
  inputSchema: z.object({ i: z.number() }),
  execute: async () => doWork(),
});

export async function single(load) {
  const agent = createQuietAgent("agent", { model: createAiSdkModel(workerPlan(load)), tools: { work } });
  const { textStream } = await agent.stream("go", { maxSteps });
  for await (const delta of textStream) if (delta) counters.deltas++;
}

export async function delegate(load) {
  const child = createQuietAgent("child", {
    description: "delegate",
    model: createAiSdkModel(childPlan(load)),
    tools: { work },
    defaultOptions: { maxSteps },
  });
  const parent = createQuietAgent("parent", {
    model: createAiSdkModel(parentPlan(load, "agent-child", (task) => ({ prompt: task }))),
    agents: { child },
  });
  // The default is 10 tool calls at once; everyone else runs all of them.
  const { textStream } = await parent.stream("go", { maxSteps, toolCallConcurrency: load.fan });
  for await (const _delta of textStream);
}

function createQuietAgent(name, options) {
  const agent = new Agent({ id: name, name, instructions: name, ...options });
  agent.__setLogger?.(noopLogger);
  return agent;
}
