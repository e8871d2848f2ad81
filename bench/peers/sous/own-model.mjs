/** A model that implements the port of sous. Behind it is the stream of the bare loops. */

import { createBareModel } from "../../mock/bare-stream.mjs";

const USAGE = {
  inputTokens: 10,
  outputTokens: 10,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  totalTokens: 20,
  estimated: false,
};

/** The stream of the bare loops, so that a ratio to `raw` is what sous adds and not what another stream saves. */
export function createOwnModel(plan) {
  const stream = createBareModel(plan, countResults);
  return {
    id: "mock/mock",
    async answer({ messages }, onDelta) {
      let text = "";
      const calls = [];
      for await (const part of stream(messages)) {
        if (part.type === "text") {
          text += part.delta;
          onDelta("text", part.delta);
        } else if (part.type === "call") calls.push(toToolCall(part));
      }
      const finish = calls.length === 0 ? "stop" : "tool-calls";
      return { message: { role: "assistant", content: [{ type: "text", text }, ...calls] }, finish, usage: USAGE };
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
