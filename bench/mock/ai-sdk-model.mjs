/** The mock as an AI SDK language model, for every peer that takes one as it is. */

import { createBrain, DELTA, textOf } from "./brain.mjs";

const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 10, text: 10, reasoning: 0 },
};

/** @param {import("./brain.mjs").Plan} plan */
export function createAiSdkModel(plan, specificationVersion = "v4") {
  const brain = createBrain(plan, countResults);
  return {
    specificationVersion,
    provider: "mock",
    modelId: "mock",
    supportedUrls: {},
    async doGenerate({ prompt }) {
      const step = brain.next(prompt);
      if (step.wait) await step.wait();
      const content = [{ type: "text", text: textOf(step) }, ...step.calls.map(toToolCall)];
      return { content, finishReason: finishReasonOf(step), usage: USAGE, warnings: [] };
    },
    async doStream({ prompt }) {
      const step = brain.next(prompt);
      if (step.wait) await step.wait();
      return { stream: streamOf(step) };
    },
  };
}

function streamOf(step) {
  return new ReadableStream({
    start(controller) {
      controller.enqueue({ type: "stream-start", warnings: [] });
      controller.enqueue({ type: "text-start", id: "1" });
      for (let index = 0; index < step.deltas; index++) {
        controller.enqueue({ type: "text-delta", id: "1", delta: DELTA });
      }
      controller.enqueue({ type: "text-end", id: "1" });
      for (const call of step.calls) controller.enqueue(toToolCall(call));
      controller.enqueue({ type: "finish", finishReason: finishReasonOf(step), usage: USAGE });
      controller.close();
    },
  });
}

function toToolCall({ id, name, json }) {
  return { type: "tool-call", toolCallId: id, toolName: name, input: json };
}

function finishReasonOf({ isLast }) {
  return isLast ? { unified: "stop", raw: "stop" } : { unified: "tool-calls", raw: "tool_calls" };
}

function countResults(prompt) {
  let count = 0;
  for (const message of prompt) if (message.role === "tool") count += message.content.length;
  return count;
}
