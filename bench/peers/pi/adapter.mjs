/** pi: an `Agent` with a stream function; delegation is a tool that prompts another one. */

import { Agent } from "@earendil-works/pi-agent-core";
import { createAssistantMessageEventStream, Type } from "@earendil-works/pi-ai";
import { childPlan, counters, createBrain, DELTA, doWork, parentPlan, workerPlan } from "../../mock/brain.mjs";

const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const USAGE = { input: 10, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 20, cost: { ...FREE, total: 0 } };
const MODEL = {
  id: "mock",
  name: "mock",
  api: "mock",
  provider: "mock",
  baseUrl: "",
  reasoning: false,
  input: ["text"],
  cost: FREE,
  contextWindow: 1e7,
  maxTokens: 1e5,
};

const work = {
  name: "work",
  label: "work",
  description: "work",
  parameters: Type.Object({ i: Type.Number() }),
  execute: async () => toolResult(doWork()),
};

export async function single(load) {
  const agent = createAgent(createStreamFunction(workerPlan(load)), [work], "");
  agent.subscribe((event) => {
    if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") counters.deltas++;
  });
  await agent.prompt("go");
}

export async function delegate(load) {
  const childStream = createStreamFunction(childPlan(load));
  const subagent = {
    name: "subagent",
    label: "subagent",
    description: "delegate",
    parameters: Type.Object({ task: Type.String() }),
    execute: async (_callId, { task }) => {
      const child = createAgent(childStream, [work], "child");
      await child.prompt(task);
      return toolResult(child.state.messages.at(-1).content[0].text);
    },
  };
  const parentStream = createStreamFunction(parentPlan(load, "subagent", (task) => ({ task })));
  await createAgent(parentStream, [subagent], "parent").prompt("go");
}

function createAgent(streamFn, tools, systemPrompt) {
  return new Agent({ initialState: { systemPrompt, model: MODEL, tools }, streamFn });
}

function toolResult(text) {
  return { content: [{ type: "text", text }], details: undefined };
}

function createStreamFunction(plan) {
  const brain = createBrain(plan, countResults);
  return (_model, context) => {
    const stream = createAssistantMessageEventStream();
    void fill(stream, brain, context.messages);
    return stream;
  };
}

async function fill(stream, brain, messages) {
  const step = brain.next(messages);
  if (step.wait) await step.wait();
  const stopReason = step.isLast ? "stop" : "toolUse";
  const message = {
    role: "assistant",
    content: [],
    api: "mock",
    provider: "mock",
    model: "mock",
    usage: USAGE,
    stopReason,
    timestamp: Date.now(),
  };
  stream.push({ type: "start", partial: message });
  fillText(stream, message, step.deltas);
  for (const call of step.calls) fillToolCall(stream, message, call);
  stream.push({ type: "done", reason: stopReason, message });
  stream.end(message);
}

function fillText(stream, message, deltas) {
  const block = { type: "text", text: "" };
  message.content.push(block);
  stream.push({ type: "text_start", contentIndex: 0, partial: message });
  for (let index = 0; index < deltas; index++) {
    block.text += DELTA;
    stream.push({ type: "text_delta", contentIndex: 0, delta: DELTA, partial: message });
  }
  stream.push({ type: "text_end", contentIndex: 0, content: block.text, partial: message });
}

function fillToolCall(stream, message, { id, name, json }) {
  const toolCall = { type: "toolCall", id, name, arguments: JSON.parse(json) };
  const contentIndex = message.content.push(toolCall) - 1;
  stream.push({ type: "toolcall_start", contentIndex, partial: message });
  stream.push({ type: "toolcall_end", contentIndex, toolCall, partial: message });
}

function countResults(messages) {
  let count = 0;
  for (const message of messages) if (message.role === "toolResult") count++;
  return count;
}
