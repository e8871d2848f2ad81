/** deepagents: `createDeepAgent` with its own `task` tool for delegation. */

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { createDeepAgent } from "deepagents";
import { tool } from "langchain";
import { z } from "zod";
import { childPlan, counters, doWork, parentPlan, workerPlan } from "../../mock/brain.mjs";
import { defineMockChatModel } from "../../mock/langchain-model.mjs";

const MockChatModel = defineMockChatModel({ BaseChatModel, AIMessage, AIMessageChunk, ChatGenerationChunk });
const recursionLimit = 1_000_000;
const go = { messages: [{ role: "user", content: "go" }] };
const work = tool(async () => doWork(), {
  name: "work",
  description: "work",
  schema: z.object({ i: z.number() }),
});

export async function single(load) {
  const agent = createDeepAgent({ model: new MockChatModel(workerPlan(load)), tools: [work] });
  const stream = await agent.stream(go, { streamMode: "messages", recursionLimit });
  for await (const [message] of stream) if (message.content && message.getType() === "ai") counters.deltas++;
}

export async function delegate(load) {
  const child = {
    name: "child",
    description: "child",
    systemPrompt: "child",
    tools: [work],
    model: new MockChatModel(childPlan(load)),
  };
  const inputFor = (task) => ({ description: task, subagent_type: "child" });
  const parent = createDeepAgent({
    model: new MockChatModel(parentPlan(load, "task", inputFor)),
    subagents: [child],
    tools: [],
  });
  await parent.invoke(go, { recursionLimit });
}
