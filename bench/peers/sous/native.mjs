/** sous in memory, on a model that implements its own port. */

import { childPlan, createBrain, DELTA, parentPlan, workerPlan } from "../../mock/brain.mjs";
import { runAlone, runAloneByIterator, runTree } from "./tree.mjs";

export function single(load) {
  return runAlone(createModel(workerPlan(load)));
}

export function singleByIterator(load) {
  return runAloneByIterator(createModel(workerPlan(load)));
}

export function delegate(load) {
  const parent = createModel(parentPlan(load, "subagent_child", (task) => ({ task })));
  return runTree(parent, createModel(childPlan(load)), load.fan);
}

const USAGE = {
  inputTokens: 10,
  outputTokens: 10,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  totalTokens: 20,
  estimated: false,
};

function createModel(plan) {
  const brain = createBrain(plan, countResults);
  return {
    id: "mock/mock",
    async answer({ messages }, onDelta) {
      const step = brain.next(messages);
      if (step.wait) await step.wait();
      let text = "";
      for (let index = 0; index < step.deltas; index++) {
        text += DELTA;
        onDelta("text", DELTA);
      }
      const message = { role: "assistant", content: [{ type: "text", text }, ...step.calls.map(toToolCall)] };
      return { message, finish: step.isLast ? "stop" : "tool-calls", usage: USAGE };
    },
  };
}

function toToolCall({ id, name, json }) {
  return { type: "tool-call", callId: id, toolName: name, input: JSON.parse(json) };
}

function countResults(messages) {
  let count = 0;
  for (const message of messages) if (message.role === "tool") count += message.content.length;
  return count;
}
