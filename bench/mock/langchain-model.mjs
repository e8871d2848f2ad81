/** The mock as a LangChain chat model, for LangChain and deepagents. */

import { createBrain, DELTA, textOf } from "./brain.mjs";

const USAGE = { input_tokens: 10, output_tokens: 10, total_tokens: 20 };

/** Every peer has its own copy of `@langchain/core`, so the classes to build on are handed in. */
export function defineMockChatModel({ BaseChatModel, AIMessage, AIMessageChunk, ChatGenerationChunk }) {
  return class MockChatModel extends BaseChatModel {
    #brain;

    /** @param {import("./brain.mjs").Plan} plan */
    constructor(plan) {
      super({});
      this.#brain = createBrain(plan, countResults);
    }

    /** A large window, so that no call is made to summarise the conversation. */
    get profile() {
      return { maxInputTokens: 1e8 };
    }

    _llmType() {
      return "mock";
    }

    bindTools() {
      return this;
    }

    async _generate(messages) {
      const step = this.#brain.next(messages);
      if (step.wait) await step.wait();
      const text = textOf(step);
      const message = new AIMessage({ content: text, tool_calls: step.calls.map(toToolCall), usage_metadata: USAGE });
      return { generations: [{ text, message }] };
    }

    async *_streamResponseChunks(messages, _options, runManager) {
      const step = this.#brain.next(messages);
      if (step.wait) await step.wait();
      for (let index = 0; index < step.deltas; index++) {
        const chunk = new ChatGenerationChunk({ text: DELTA, message: new AIMessageChunk({ content: DELTA }) });
        yield chunk;
        await runManager?.handleLLMNewToken(DELTA, undefined, undefined, undefined, undefined, { chunk });
      }
      const message = new AIMessageChunk({
        content: "",
        tool_call_chunks: step.calls.map(toToolCallChunk),
        usage_metadata: USAGE,
      });
      const chunk = new ChatGenerationChunk({ text: "", message });
      yield chunk;
      await runManager?.handleLLMNewToken("", undefined, undefined, undefined, undefined, { chunk });
    }
  };
}

function toToolCall({ id, name, json }) {
  return { type: "tool_call", id, name, args: JSON.parse(json) };
}

function toToolCallChunk({ id, name, json }, index) {
  return { type: "tool_call_chunk", id, name, args: json, index };
}

function countResults(messages) {
  let count = 0;
  for (const message of messages) if (message.getType() === "tool") count++;
  return count;
}
