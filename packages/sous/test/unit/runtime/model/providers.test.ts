import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelError } from "../../../../src/core/errors.ts";
import { type Message, textOf, toolCallsOf, userMessage } from "../../../../src/core/message.ts";
import type { Model } from "../../../../src/core/model.ts";
import { resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { type Aimock, MODELS, startAimock, usage } from "../../../support/runtime/model/aimock.ts";
import { request, WEATHER } from "../../../support/runtime/model/requests.ts";

const CALLS = [
  { id: "call_1", name: "get_weather", arguments: '{"city":"Bern","days":3}' },
  { id: "call_2", name: "get_weather", arguments: '{"city":"東京","days":12}' },
];

function start(): Promise<Aimock> {
  return startAimock([
    { match: { userMessage: "hello" }, chunkSize: 3, response: { content: "Good morning 🌤", usage: usage(120, 7) } },
    {
      match: { userMessage: "weather", hasToolResult: false },
      chunkSize: 5,
      response: { content: "I look.", toolCalls: CALLS, usage: usage(300, 40) },
    },
    {
      match: { userMessage: "weather", toolResultContains: "Sun" },
      response: { content: "Rain, then sun.", usage: usage(390, 8) },
    },
    {
      match: { userMessage: "busy" },
      response: { error: { message: "Too many requests", type: "rate_limit_error" }, status: 429, retryAfter: 7 },
    },
    {
      match: { userMessage: "broken" },
      response: { error: { message: "Internal error", type: "server_error" }, status: 500 },
    },
    { match: { userMessage: "silent" }, response: { content: "Nobody counted." } },
    // The latency lets the chunks arrive before the connection is cut. Google sends a call in one piece, so there the
    // cut comes just before it; `streams.test.ts` cuts at every byte.
    {
      match: { userMessage: "cut", model: /gemini/ },
      chunkSize: 4,
      latency: 3,
      truncateAfterChunks: 3,
      response: { content: "I look at it now.", toolCalls: CALLS },
    },
    { match: { userMessage: "cut" }, chunkSize: 4, latency: 3, truncateAfterChunks: 5, response: { toolCalls: CALLS } },
  ]);
}

async function ask(model: Model, messages: Message[]) {
  let deltas = "";
  const answer = await model.answer(
    request({ instructions: "You help.", messages, tools: [WEATHER] }),
    (kind, text) => {
      if (kind === "text") deltas += text;
    },
  );
  return { ...answer, deltas };
}

for (const id of MODELS) {
  test(`A4: ${id} streams text, parallel calls and usage, and takes their results`, async () => {
    await using server = await start();
    const model = await resolveModel(id, server.environment);

    const hello = await ask(model, [userMessage("hello")]);
    assert.deepEqual([textOf(hello.message), hello.deltas, hello.finish], ["Good morning 🌤", "Good morning 🌤", "stop"]);
    assert.deepEqual(hello.usage, {
      inputTokens: 120,
      outputTokens: 7,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      totalTokens: 127,
      estimated: false,
    });

    const messages: Message[] = [userMessage("weather")];
    const first = await ask(model, messages);
    const calls = toolCallsOf(first.message);
    assert.deepEqual(
      [textOf(first.message), calls.map(({ toolName, input }) => ({ toolName, input })), first.usage?.totalTokens],
      [
        "I look.",
        [
          { toolName: "get_weather", input: { city: "Bern", days: 3 } },
          { toolName: "get_weather", input: { city: "東京", days: 12 } },
        ],
        340,
      ],
    );

    const [one, other] = calls;
    assert.ok(one !== undefined && other !== undefined && one.callId !== other.callId);
    messages.push(first.message, {
      role: "tool",
      content: [
        { type: "tool-result", callId: one.callId, toolName: "get_weather", output: "Rain", isError: false },
        { type: "tool-result", callId: other.callId, toolName: "get_weather", output: "Sun", isError: false },
      ],
    });
    const last = await ask(model, messages);
    assert.deepEqual([textOf(last.message), last.usage?.totalTokens], ["Rain, then sun.", 398]);
    assert.deepEqual(
      server.requests().map(({ status }) => status),
      [200, 200, 200],
    );
  });

  test(`A4: ${id} tells a 429 with Retry-After, a 500 and a cut inside a call apart`, async () => {
    await using server = await start();
    const wire: string[] = [];
    const model = await resolveModel(id, server.environment, {
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        const copy = response.clone().body?.pipeThrough(new TextDecoderStream());
        copy?.pipeTo(new WritableStream({ write: (text) => void wire.push(text) })).catch(() => {});
        return response;
      },
    });
    const failure = async (task: string) => {
      const error = await ask(model, [userMessage(task)]).then(
        () => assert.fail("there was an answer"),
        (error: unknown) => error,
      );
      assert.ok(error instanceof ModelError, String(error));
      return {
        kind: error.kind,
        status: error.status,
        retryAfterMs: error.retryAfterMs,
        afterOutput: error.afterOutput,
      };
    };
    assert.deepEqual(await failure("busy"), {
      kind: "rate_limit",
      status: 429,
      retryAfterMs: 7000,
      afterOutput: false,
    });
    assert.deepEqual(await failure("broken"), {
      kind: "overloaded",
      status: 500,
      retryAfterMs: undefined,
      afterOutput: false,
    });
    assert.deepEqual(await failure("cut"), {
      kind: "interrupted",
      status: undefined,
      retryAfterMs: undefined,
      afterOutput: true,
    });
  });
}

for (const id of ["anthropic/claude-sonnet-4-5", "openai/gpt-5.5", "google/gemini-3-pro-preview"]) {
  test(`usage that ${id} reports as zero counts as not reported`, async () => {
    await using server = await start();
    const answer = await ask(await resolveModel(id, server.environment), [userMessage("silent")]);
    assert.deepEqual([textOf(answer.message), answer.usage], ["Nobody counted.", undefined]);
  });
}
