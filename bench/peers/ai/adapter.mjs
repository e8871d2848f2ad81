/** AI SDK: a `ToolLoopAgent`; delegation is a tool that calls another one. */

import { stepCountIs, ToolLoopAgent, tool } from "ai";
import { z } from "zod";
import { createAiSdkModel } from "../../mock/ai-sdk-model.mjs";
import { childPlan, counters, doWork, parentPlan, workerPlan } from "../../mock/brain.mjs";

const stopWhen = stepCountIs(100_000);
const work = tool({ description: "work", inputSchema: z.object({ i: z.number() }), execute: async () => doWork() });

export async function single(load) {
  const agent = new ToolLoopAgent({ model: createAiSdkModel(workerPlan(load)), tools: { work }, stopWhen });
  const { textStream } = await agent.stream({ prompt: "go" });
  for await (const delta of textStream) if (delta) counters.deltas++;
}

export async function delegate(load) {
  const child = new ToolLoopAgent({
    model: createAiSdkModel(childPlan(load)),
    instructions: "child",
    tools: { work },
    stopWhen,
  });
  const subagent = tool({
    description: "delegate",
    inputSchema: z.object({ task: z.string() }),
    execute: async ({ task }, { abortSignal }) => (await child.generate({ prompt: task, abortSignal })).text,
  });
  const parent = new ToolLoopAgent({
    model: createAiSdkModel(parentPlan(load, "subagent", (task) => ({ task }))),
    instructions: "parent",
    tools: { subagent },
    stopWhen,
  });
  const { textStream } = await parent.stream({ prompt: "go" });
  for await (const _delta of textStream);
}
