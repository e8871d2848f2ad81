/** Requests and stream parts for the tests of `runtime/model/`, with everything filled in that a test does not care about. */

import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { type UserInput, userMessage } from "../../../../src/core/message.ts";
import type { ModelRequest, ToolDefinition } from "../../../../src/core/model.ts";

export const WEATHER: ToolDefinition = {
  name: "get_weather",
  description: "The weather of a city",
  inputSchema: {
    type: "object",
    properties: { city: { type: "string" }, days: { type: "number" } },
    required: ["city", "days"],
    additionalProperties: false,
  },
};

export function request(asked: Partial<ModelRequest> & { task?: UserInput } = {}): ModelRequest {
  const { task = "Hello", ...given } = asked;
  return {
    instructions: undefined,
    messages: [userMessage(task)],
    tools: [],
    mayCallTools: true,
    settings: { maxOutputTokens: undefined, outputSchema: undefined },
    caller: { runId: "run", agentId: "run", path: "lead", depth: 0, turn: 1 },
    signal: new AbortController().signal,
    ...given,
  };
}

export const NO_USAGE = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

export function finish(
  unified: Extract<LanguageModelV4StreamPart, { type: "finish" }>["finishReason"]["unified"] = "stop",
): LanguageModelV4StreamPart {
  return { type: "finish", finishReason: { unified, raw: unified }, usage: NO_USAGE };
}

export type StubModel = LanguageModelV4 & { calls: LanguageModelV4CallOptions[] };

/** A V4 model that streams the given parts and remembers how it was called. An `Error` in the list breaks the stream. */
export function stubModel(parts: readonly (LanguageModelV4StreamPart | Error)[], provider = "stub.chat"): StubModel {
  const calls: LanguageModelV4CallOptions[] = [];
  return {
    specificationVersion: "v4",
    provider,
    modelId: "stub-1",
    supportedUrls: {},
    calls,
    doGenerate: () => Promise.reject(new Error("not used")),
    doStream: async (options) => {
      calls.push(options);
      return { stream: streamOf(parts) };
    },
  };
}

function streamOf(parts: readonly (LanguageModelV4StreamPart | Error)[]): ReadableStream<LanguageModelV4StreamPart> {
  const waiting = [...parts];
  return new ReadableStream({
    pull(controller) {
      const next = waiting.shift();
      if (next instanceof Error) controller.error(next);
      else if (next === undefined) controller.close();
      else controller.enqueue(next);
    },
  });
}
