import assert from "node:assert/strict";
import { test } from "node:test";
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { agent } from "../../../../src/core/agent.ts";
import { ModelError, UserError } from "../../../../src/core/errors.ts";
import type { ModelAnswer, ModelRequest } from "../../../../src/core/model.ts";
import { fromAiSdk, isForeignModel } from "../../../../src/runtime/model/ai-sdk.ts";
import { run } from "../../../../src/runtime.ts";
import { finish, NO_USAGE, request, stubModel, WEATHER } from "../../../support/runtime/model/requests.ts";

type Parts = (LanguageModelV4StreamPart | Error)[];

async function answerOf(parts: Parts, asked: ModelRequest = request()): Promise<ModelAnswer> {
  return await fromAiSdk(stubModel(parts)).answer(asked, () => {});
}

const CALL: LanguageModelV4StreamPart = {
  type: "tool-call",
  toolCallId: "c1",
  toolName: "get_weather",
  input: '{"city":"Bern"}',
};

test("text, thoughts, files and calls come in the order in which they began, with what the provider wants back", async () => {
  const deltas: [string, string][] = [];
  const model = fromAiSdk(
    stubModel([
      { type: "stream-start", warnings: [] },
      { type: "reasoning-start", id: "0", providerMetadata: { openai: { itemId: "rs_1", encrypted: null } } },
      { type: "reasoning-delta", id: "0", delta: "Hm" },
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "It " },
      { type: "reasoning-delta", id: "0", delta: "…" },
      { type: "reasoning-delta", id: "0", delta: "", providerMetadata: { anthropic: { signature: "s" } } },
      { type: "reasoning-end", id: "0", providerMetadata: { openai: { encrypted: "abc" } } },
      { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array([1, 2, 3]) } },
      { type: "text-delta", id: "0", delta: "rains." },
      { type: "text-end", id: "0", providerMetadata: { openai: { itemId: "msg_1" } } },
      { ...CALL, providerMetadata: { google: { thoughtSignature: "t" } } },
      { type: "text-delta", id: "9", delta: "After." },
      finish("tool-calls"),
    ]),
  );
  const answer = await model.answer(request(), (kind, text) => void deltas.push([kind, text]));
  assert.deepEqual(answer, {
    message: {
      role: "assistant",
      content: [
        {
          type: "reasoning",
          text: "Hm…",
          provider: { openai: { itemId: "rs_1", encrypted: "abc" }, anthropic: { signature: "s" } },
        },
        { type: "text", text: "It rains.", provider: { openai: { itemId: "msg_1" } } },
        { type: "file", mediaType: "image/png", data: "AQID" },
        {
          type: "tool-call",
          callId: "c1",
          toolName: "get_weather",
          input: { city: "Bern" },
          provider: { google: { thoughtSignature: "t" } },
        },
        { type: "text", text: "After." },
      ],
    },
    finish: "tool-calls",
    usage: undefined,
  });
  assert.deepEqual(deltas, [
    ["hidden", ""],
    ["reasoning", "Hm"],
    ["text", "It "],
    ["reasoning", "…"],
    ["hidden", ""],
    ["text", "rains."],
    ["tool-input", 'get_weather{"city":"Bern"}'],
    ["text", "After."],
  ]);
});

test("empty blocks are dropped, but an encrypted thought without words is kept", async () => {
  const { message } = await answerOf([
    { type: "text-start", id: "0" },
    { type: "text-end", id: "0" },
    { type: "reasoning-start", id: "1" },
    { type: "reasoning-end", id: "1" },
    { type: "reasoning-start", id: "2", providerMetadata: { anthropic: { redactedData: "xyz" } } },
    finish(),
  ]);
  assert.deepEqual(message.content, [
    { type: "reasoning", text: "", provider: { anthropic: { redactedData: "xyz" } } },
  ]);
});

test("parts of unknown types are passed over, and what the provider ran itself is no call of ours", async () => {
  const { message } = await answerOf([
    { type: "brand-new" } as unknown as LanguageModelV4StreamPart,
    { type: "custom", kind: "anthropic.message_start" },
    { ...CALL, toolName: "web_search", providerExecuted: true },
    { type: "tool-result", toolCallId: "c1", toolName: "web_search", result: { hits: 3 } },
    { type: "ping" },
    finish(),
  ]);
  const there = { type: "provider", from: "stub.chat", callId: "c1", toolName: "web_search" };
  assert.deepEqual(message.content, [
    { ...there, kind: "call", value: { city: "Bern" } },
    { ...there, kind: "result", value: { hits: 3 } },
  ]);
});

test("arguments that are not JSON stay a string, none at all are an empty object", async () => {
  const call = (input: string, toolCallId: string) => ({ ...CALL, input, toolCallId });
  const { message } = await answerOf([
    call('{"city":"Be', "a"),
    call("", "b"),
    call("  ", "c"),
    call("[1]", "d"),
    finish("tool-calls"),
  ]);
  assert.deepEqual(
    message.content.map((part) => part.type === "tool-call" && part.input),
    ['{"city":"Be', {}, {}, [1]],
  );
});

test("lone surrogates in text and arguments become well formed", async () => {
  const { message } = await answerOf([
    { type: "text-delta", id: "0", delta: "a\ud83d" },
    { type: "text-delta", id: "0", delta: "\ude00b" },
    { type: "text-delta", id: "1", delta: "\ud83d!" },
    { ...CALL, input: '{"city":"\\ud83d","ok":"\\ud83d\\ude00"}' },
    finish("tool-calls"),
  ]);
  assert.deepEqual(message.content, [
    { type: "text", text: "a😀b" },
    { type: "text", text: "\ufffd!" },
    { type: "tool-call", callId: "c1", toolName: "get_weather", input: { city: "\ufffd", ok: "😀" } },
  ]);
});

for (const reason of ["length", "content-filter"] as const) {
  test(`an answer that ended by ${reason} keeps its text and loses its calls`, async () => {
    const answer = await answerOf([{ type: "text-delta", id: "0", delta: "So far" }, CALL, finish(reason)]);
    assert.deepEqual(answer, {
      message: { role: "assistant", content: [{ type: "text", text: "So far" }] },
      finish: reason,
      usage: undefined,
    });
  });
}

for (const reason of ["stop", "tool-calls", "other"] as const) {
  test(`calls of an answer that ended by ${reason} are delivered`, async () => {
    const { message, finish: given } = await answerOf([CALL, finish(reason)]);
    assert.equal(given, reason);
    assert.deepEqual(message.content, [
      { type: "tool-call", callId: "c1", toolName: "get_weather", input: { city: "Bern" } },
    ]);
  });
}

const OVERLOADED = { message: "Overloaded", type: "overloaded_error", statusCode: 529, data: {} };
const RESET = new TypeError("terminated", {
  cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
});

const UNFINISHED: [name: string, parts: Parts, kind: string, message: string][] = [
  ["no finish at all", [CALL], "interrupted", "stub/stub-1 stopped before it had finished its answer"],
  [
    "a finish by error",
    [CALL, finish("error")],
    "interrupted",
    "stub/stub-1 stopped before it had finished its answer",
  ],
  [
    "a finish by interruption",
    [CALL, finish("interrupted")],
    "interrupted",
    "stub/stub-1 stopped before it had finished its answer (interrupted)",
  ],
  [
    "an error part and then a finish",
    [CALL, { type: "error", error: OVERLOADED }, finish()],
    "overloaded",
    "stub/stub-1 is overloaded or failing (HTTP 529): Overloaded",
  ],
  [
    "a finish and then an error part",
    [CALL, finish(), { type: "error", error: OVERLOADED }],
    "overloaded",
    "stub/stub-1 is overloaded or failing (HTTP 529): Overloaded",
  ],
  [
    "an error part of an unknown shape",
    [CALL, { type: "error", error: { wat: 1 } }],
    "interrupted",
    'The answer of stub/stub-1 broke off: {"wat":1}',
  ],
  ["a broken connection", [CALL, RESET], "interrupted", "The answer of stub/stub-1 broke off: terminated"],
];

for (const [name, parts, kind, message] of UNFINISHED) {
  test(`${name} is a ModelError and delivers no call`, async () => {
    const error = await answerOf(parts).then(
      () => assert.fail("there was an answer"),
      (error: unknown) => error,
    );
    assert.ok(error instanceof ModelError);
    assert.deepEqual(
      { kind: error.kind, message: error.message, afterOutput: error.afterOutput },
      { kind, message, afterOutput: true },
    );
  });
}

test("an error before any output says so, for nothing was billed", async () => {
  await assert.rejects(
    answerOf([
      { type: "stream-start", warnings: [] },
      { type: "error", error: OVERLOADED },
    ]),
    { kind: "overloaded", afterOutput: false },
  );
});

test("a connection that breaks after the finish does not spoil the answer", async () => {
  const { message } = await answerOf([CALL, finish("tool-calls"), RESET]);
  assert.equal(message.content.length, 1);
});

test("usage has cache reads and writes, and impossible figures count as unsaid", async () => {
  const usageOf = async (input: object, output: object) => {
    const usage = {
      inputTokens: { ...NO_USAGE.inputTokens, ...input },
      outputTokens: { ...NO_USAGE.outputTokens, ...output },
    };
    return (await answerOf([CALL, { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage }])).usage;
  };
  const counted = { inputTokens: 100, outputTokens: 9, totalTokens: 109, estimated: false };
  assert.deepEqual(await usageOf({ total: 100, cacheRead: 60, cacheWrite: 30 }, { total: 9 }), {
    ...counted,
    cachedInputTokens: 60,
    cacheWriteTokens: 30,
  });
  assert.deepEqual(await usageOf({ total: 100, cacheRead: 90, cacheWrite: 30 }, { total: 9 }), {
    ...counted,
    cachedInputTokens: 90,
    cacheWriteTokens: 10,
  });
  assert.deepEqual(await usageOf({ total: 100, cacheRead: -5, cacheWrite: Number.NaN }, { total: 9 }), {
    ...counted,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
  });
  for (const [input, output] of [
    [undefined, undefined],
    [0, 0],
    [100, undefined],
    [undefined, 9],
    [100, 0],
    [0, 9],
    [1e308, 9],
    [-1, 9],
  ]) {
    assert.equal(await usageOf({ total: input }, { total: output }), undefined);
  }
});

test("an empty answer may have cost no output tokens", async () => {
  const usage = {
    inputTokens: { ...NO_USAGE.inputTokens, total: 7 },
    outputTokens: { ...NO_USAGE.outputTokens, total: 0 },
  };
  const answer = await answerOf([{ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage }]);
  assert.equal(answer.usage?.totalTokens, 7);
});

test("the request carries tools, choice, cap and shape, and nothing that was not asked for", async () => {
  // As models of @ai-sdk/openai-compatible say that they take a schema.
  const model = Object.assign(stubModel([finish()]), { supportsStructuredOutputs: true });
  const stop = new AbortController();
  const { signal } = stop;
  await fromAiSdk(model).answer(request({ signal, task: "Hi" }), () => {});
  const shape = { type: "object", properties: { a: { type: "string" } } };
  const settings = { maxOutputTokens: 512, outputSchema: shape };
  await fromAiSdk(model).answer(
    request({ signal, task: "Hi", tools: [WEATHER], mayCallTools: false, settings }),
    () => {},
  );
  const prompt = [{ role: "user", content: [{ type: "text", text: "Hi" }] }];
  stop.abort();
  assert.deepEqual(
    model.calls.map(({ abortSignal }) => abortSignal?.aborted),
    [true, true],
  );
  const rest = model.calls.map(({ abortSignal: _, ...call }) => call);
  assert.deepEqual(rest, [
    { prompt },
    {
      prompt,
      tools: [{ type: "function", ...WEATHER }],
      toolChoice: { type: "none" },
      maxOutputTokens: 512,
      responseFormat: { type: "json", schema: shape },
    },
  ]);
});

test("an aborted signal is the reason that is thrown, before and during the stream", async () => {
  const reason = new Error("the person stopped it");
  const model = stubModel([
    { type: "text-delta", id: "0", delta: "a" },
    { type: "text-delta", id: "0", delta: "b" },
    finish(),
  ]);
  await assert.rejects(
    fromAiSdk(model).answer(request({ signal: AbortSignal.abort(reason) }), () => {}),
    reason,
  );
  assert.equal(model.calls.length, 0);
  const stop = new AbortController();
  await assert.rejects(
    fromAiSdk(model).answer(request({ signal: stop.signal }), () => stop.abort(reason)),
    reason,
  );
});

test("a listener that throws is not taken for a fault of the provider", async () => {
  const fault = new RangeError("a bug of ours");
  const model = stubModel([{ type: "text-delta", id: "0", delta: "a" }, finish()]);
  await assert.rejects(
    fromAiSdk(model).answer(request(), () => {
      throw fault;
    }),
    fault,
  );
});

test("one AI SDK model is one Model, named provider/model", () => {
  const model = stubModel([], "anthropic.messages");
  assert.equal(fromAiSdk(model), fromAiSdk(model));
  assert.equal(fromAiSdk(model).id, "anthropic/stub-1");
});

test("a model of an older specification is refused with a sentence", () => {
  const older = { ...stubModel([]), specificationVersion: "v2" };
  assert.ok(isForeignModel(older));
  assert.throws(
    () => fromAiSdk(older),
    new UserError(
      "The model stub.chat/stub-1 implements specification v2 of the AI SDK, but sous needs v4: update its provider package",
    ),
  );
  for (const other of ["openai/gpt-5", null, {}, { id: "x", answer() {} }]) assert.ok(!isForeignModel(other));
});

test("the time for a call is no longer counted once it has its answer", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const model = stubModel([
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "Hi" },
    finish("stop"),
  ]);
  await fromAiSdk(model, { callTimeoutMs: 1000 }).answer(request(), () => {});
  t.mock.timers.tick(1_000_000);
  assert.equal(model.calls[0]?.abortSignal?.aborted, false);
});

test("a file comes as bytes, as text or as an address, with what the provider wants back", async () => {
  const file = { type: "file", mediaType: "image/png" } as const;
  const { message } = await answerOf([
    { ...file, data: { type: "data", data: "AQID" }, providerMetadata: { google: { thoughtSignature: "t" } } },
    { ...file, data: { type: "url", url: new URL("https://example.org/b.png") } },
    finish("stop"),
  ]);
  assert.deepEqual(message.content, [
    { ...file, data: "AQID", provider: { google: { thoughtSignature: "t" } } },
    { ...file, data: "https://example.org/b.png" },
  ]);
});

test("a model of the AI SDK can be given to an agent as it is, and what is no model is refused", async () => {
  const model = stubModel([
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "Hi" },
    finish("stop"),
  ]);
  const { status, text } = await run(agent({ name: "lead", model }), "Hello");
  assert.deepEqual([status, text, model.calls.length], ["completed", "Hi", 1]);
  const noModel = { id: "mine" } as unknown as typeof model;
  await assert.rejects(
    async () => run(agent({ name: "lead", model: noModel }), "Hello"),
    /^UserError: agent lead: model must be "provider\/model", a model of the AI SDK, or an object with an id and answer\(\); found an object$/,
  );
});
