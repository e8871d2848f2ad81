/** Strands: an `Agent` over its own `Model` class; delegation is `asTool`, or one agent per child where they run at once. */

import { Agent, Model, NullConversationManager, tool } from "@strands-agents/sdk";
import { z } from "zod";
import { childPlan, counters, createBrain, DELTA, doWork, parentPlan, workerPlan } from "../../mock/brain.mjs";

const work = tool({
  name: "work",
  description: "work",
  inputSchema: z.object({ i: z.number() }),
  callback: async () => doWork(),
});

export async function single(load) {
  const agent = createAgent({ model: new MockModel(workerPlan(load)), tools: [work] });
  for await (const event of agent.stream("go")) if (isTextDelta(event)) counters.deltas++;
}

export async function delegate(load) {
  const model = new MockModel(childPlan(load));
  const createChild = () => createAgent({ name: "child", model, systemPrompt: "child", tools: [work] });
  const parent = createAgent({
    name: "parent",
    model: new MockModel(parentPlan(load, "subagent", (task) => ({ input: task }))),
    systemPrompt: "parent",
    tools: [load.fan === 1 ? asTool(createChild()) : asToolForMany(createChild)],
  });
  await parent.invoke("go");
}

function asTool(child) {
  return child.asTool({ name: "subagent", description: "delegate" });
}

/** `asTool` refuses a second call while one is running, so a fan-out needs an agent for each child. */
function asToolForMany(createChild) {
  return tool({
    name: "subagent",
    description: "delegate",
    inputSchema: z.object({ input: z.string() }),
    callback: async ({ input }) => (await createChild().invoke(input)).toString(),
  });
}

/** The default keeps a window of 40 messages; here everyone keeps the whole conversation. */
function createAgent(options) {
  return new Agent({ printer: false, conversationManager: new NullConversationManager(), ...options });
}

function isTextDelta({ type, event }) {
  return (
    type === "modelStreamUpdateEvent" &&
    event.type === "modelContentBlockDeltaEvent" &&
    event.delta.type === "textDelta"
  );
}

class MockModel extends Model {
  #brain;
  #config = { modelId: "mock", contextWindowLimit: 1e7 };

  constructor(plan) {
    super();
    this.#brain = createBrain(plan, countResults);
  }

  updateConfig(changes) {
    Object.assign(this.#config, changes);
  }

  getConfig() {
    return this.#config;
  }

  async *stream(messages) {
    const step = this.#brain.next(messages);
    if (step.wait) await step.wait();
    yield { type: "modelMessageStartEvent", role: "assistant" };
    yield { type: "modelContentBlockStartEvent" };
    for (let index = 0; index < step.deltas; index++) {
      yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text: DELTA } };
    }
    yield { type: "modelContentBlockStopEvent" };
    for (const { id, name, json } of step.calls) {
      yield { type: "modelContentBlockStartEvent", start: { type: "toolUseStart", name, toolUseId: id } };
      yield { type: "modelContentBlockDeltaEvent", delta: { type: "toolUseInputDelta", input: json } };
      yield { type: "modelContentBlockStopEvent" };
    }
    yield { type: "modelMessageStopEvent", stopReason: step.isLast ? "endTurn" : "toolUse" };
    yield { type: "modelMetadataEvent", usage: { inputTokens: 10, outputTokens: 10, totalTokens: 20 } };
  }
}

function countResults(messages) {
  let count = 0;
  for (const message of messages) for (const block of message.content) if (block.type === "toolResultBlock") count++;
  return count;
}
