/** Requests that the real provider packages put on the wire for our messages, and what they make of usage with a cache. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Message, type ProviderData, userMessage } from "../../../../src/core/message.ts";
import type { ModelRequest } from "../../../../src/core/model.ts";
import { resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { request, WEATHER } from "../../../support/runtime/model/requests.ts";

const KEYS = {
  ANTHROPIC_API_KEY: "k",
  OPENAI_API_KEY: "k",
  GEMINI_API_KEY: "k",
  OPENAI_COMPATIBLE_BASE_URL: "http://host/v1",
};

/** The body of the request, as JSON. */
async function bodyOf(id: string, asked: Partial<ModelRequest>) {
  let body = "";
  const model = await resolveModel(id, KEYS, {
    fetch: async (_, init) => {
      body = String(init?.body);
      return new Response("{}", { status: 400 });
    },
  });
  await assert.rejects(model.answer(request({ instructions: "Be brief.", tools: [WEATHER], ...asked }), () => {}));
  return JSON.parse(body);
}

/** A question with a picture, an answer that thought, called and gets a picture back. */
function history(provider: ProviderData): Message[] {
  return [
    userMessage([
      { type: "text", text: "Look" },
      { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" },
    ]),
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm.", provider },
        { type: "text", text: "I look.", provider },
        { type: "tool-call", callId: "c1", toolName: "get_weather", input: { city: "Bern", days: 1 }, provider },
      ],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          callId: "c1",
          toolName: "get_weather",
          output: "Rain",
          isError: false,
          files: [{ type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" }],
        },
      ],
    },
  ];
}

const MARK = { type: "ephemeral" };

test("Anthropic gets thoughts with their signature, pictures in results, and cache marks at four places", async () => {
  const body = await bodyOf("anthropic/claude-sonnet-4-5", { messages: history({ anthropic: { signature: "sig" } }) });
  const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } };
  assert.deepEqual(body.system, [{ type: "text", text: "Be brief.", cache_control: MARK }]);
  assert.deepEqual(body.tools.at(-1).cache_control, MARK);
  assert.deepEqual(body.messages, [
    {
      role: "user",
      content: [
        { type: "text", text: "Look" },
        { ...picture, cache_control: MARK },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "sig" },
        { type: "text", text: "I look." },
        { type: "tool_use", id: "c1", name: "get_weather", input: { city: "Bern", days: 1 } },
      ],
    },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "c1",
          content: [{ type: "text", text: "Rain" }, picture],
          cache_control: MARK,
        },
      ],
    },
  ]);
  assert.equal(JSON.stringify(body).split('"cache_control"').length - 1, 4);
});

test("OpenAI responses gets the encrypted thoughts back, not references to what it did not store", async () => {
  const provider = { openai: { itemId: "rs_1", reasoningEncryptedContent: "secret thoughts" } };
  const body = await bodyOf("openai/gpt-5.5", { messages: history(provider) });
  assert.deepEqual([body.store, body.include], [false, ["reasoning.encrypted_content"]]);
  const { type, encrypted_content, summary } = body.input[2];
  assert.deepEqual(
    [type, encrypted_content, summary],
    ["reasoning", "secret thoughts", [{ type: "summary_text", text: "Hm." }]],
  );
  assert.deepEqual(
    body.input.map((item: { type?: string; role?: string }) => item.type ?? item.role),
    ["developer", "user", "reasoning", "assistant", "function_call", "function_call_output"],
  );
  assert.deepEqual(body.input.at(-1).output, [
    { type: "input_text", text: "Rain" },
    { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" },
  ]);
});

test("Google gets the signatures of thoughts, text and calls", async () => {
  const body = await bodyOf("google/gemini-3-pro-preview", {
    messages: history({ google: { thoughtSignature: "sig" } }),
  });
  assert.deepEqual(body.contents[1], {
    role: "model",
    parts: [
      { text: "Hm.", thought: true, thoughtSignature: "sig" },
      { text: "I look.", thoughtSignature: "sig" },
      { functionCall: { id: "c1", name: "get_weather", args: { city: "Bern", days: 1 } }, thoughtSignature: "sig" },
    ],
  });
  assert.equal(body.contents[2].parts[0].functionResponse.parts[0].inlineData.data, "iVBORw0KGgo=");
});

for (const id of ["openai-chat/gpt-5.5", "openai-compatible/some-model"]) {
  test(`${id} gets pictures of results as pictures, not as JSON`, async () => {
    const { messages } = await bodyOf(id, { messages: history({}) });
    const picture = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
    assert.deepEqual(messages.slice(-2), [
      { role: "tool", tool_call_id: "c1", content: "Rain" },
      { role: "user", content: [{ type: "text", text: "Files of the result of get_weather (c1):" }, picture] },
    ]);
  });
}

const NO_CALLS: [id: string, read: (body: Record<string, never>) => unknown, expected: unknown][] = [
  ["anthropic/claude-sonnet-4-5", (body) => body.tool_choice, { type: "none" }],
  ["openai/gpt-5.5", (body) => body.tool_choice, "none"],
  ["openai-chat/gpt-5.5", (body) => body.tool_choice, "none"],
  ["openai-compatible/some-model", (body) => body.tool_choice, "none"],
  ["google/gemini-3-pro-preview", (body) => body.toolConfig, { functionCallingConfig: { mode: "NONE" } }],
];

test("a closing turn forbids calls but keeps the definitions, so that the prompt cache stays warm", async () => {
  for (const [id, read, expected] of NO_CALLS) {
    const body = await bodyOf(id, { mayCallTools: false });
    assert.deepEqual(read(body), expected, id);
    assert.match(JSON.stringify(body.tools), /get_weather/, id);
  }
});

const CACHED_STREAM = [
  {
    type: "message_start",
    message: {
      id: "m",
      model: "x",
      usage: { input_tokens: 10, cache_read_input_tokens: 900, cache_creation_input_tokens: 90, output_tokens: 1 },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
];

test("Anthropic's cache reads and writes are part of the input tokens and told apart", async () => {
  const body = CACHED_STREAM.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const model = await resolveModel("anthropic/claude-sonnet-4-5", KEYS, {
    fetch: async () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
  });
  const { usage } = await model.answer(request(), () => {});
  assert.deepEqual(usage, {
    inputTokens: 1000,
    outputTokens: 5,
    cachedInputTokens: 900,
    cacheWriteTokens: 90,
    totalTokens: 1005,
    estimated: false,
  });
});
