/** LangChain: `createAgent`; delegation is a tool that invokes another agent. */

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { createAgent, tool } from "langchain";
import { z } from "zod";
import { childPlan, counters, doWork, parentPlan, workerPlan } from "../../mock/brain.mjs";
import { defineMockChatModel } from "../../mock/langchain-model.mjs";

const MockChatModel = defineMockChatModel({ BaseChatModel, AIMessage, AIMessageChunk, ChatGenerationChunk });
const recursionLimit = 1_000_000;
const work = tool(async () => doWork(), {
  name: "work",
  description: "work",
  schema: z.object({ i: z.number() }),
});

export async function single(load) {
  const agent = createAgent({ model: new MockChatModel(workerPlan(load)), tools: [work] });
  const stream = await agent.stream(askedFor("go"), { streamMode: "messages", recursionLimit });
  for await (const [message] of stream) if (message.content && message.getType() === "ai") counters.deltas++;
}

export async function delegate(load) {
  const child = createAgent({ model: new MockChatModel(childPlan(load)), tools: [work], systemPrompt: "child" });
  const subagent = tool(
    async ({ task }) => (await child.invoke(askedFor(task), { recursionLimit })).messages.at(-1).content,
    { name: "subagent", description: "delegate", schema: z.object({ task: z.string() }) },
  );
  const parent = createAgent({
    model: new MockChatModel(parentPlan(load, "subagent", (task) => ({ task }))),
    tools: [subagent],
    systemPrompt: "parent",
  });
  await parent.invoke(askedFor("go"), { recursionLimit });
}

function askedFor(content) {
  return { messages: [{ role: "user", content }] };
}
