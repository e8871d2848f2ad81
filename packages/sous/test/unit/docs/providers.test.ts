/** The page about providers is right about models of the AI SDK. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultSettingsMiddleware, wrapLanguageModel } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV3, MockLanguageModelV4 } from "ai/test";
import { agent } from "../../../src/core/agent.ts";
import { UserError } from "../../../src/core/errors.ts";
import { run } from "../../../src/runtime.ts";

test("A4: settings that an agent does not have are set by middleware of the AI SDK", async () => {
  const inner = new MockLanguageModelV4({
    doStream: {
      stream: convertArrayToReadableStream([
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "Done." },
        { type: "text-end", id: "1" },
        {
          type: "finish",
          finishReason: { unified: "stop", raw: "stop" },
          usage: {
            inputTokens: { total: 5, noCache: 5, cacheRead: 0, cacheWrite: 0 },
            outputTokens: { total: 2, text: 2, reasoning: 0 },
          },
        },
      ]),
    },
  });
  const model = wrapLanguageModel({
    model: inner,
    middleware: defaultSettingsMiddleware({ settings: { temperature: 0.2, headers: { "x-team": "pay" } } }),
  });
  const { text } = await run(agent({ name: "lead", model }), "Go.");
  const { temperature, headers } = inner.doStreamCalls[0] ?? {};
  assert.deepEqual({ text, temperature, team: headers?.["x-team"] }, { text: "Done.", temperature: 0.2, team: "pay" });
});

test("A4: a model of an older AI SDK is refused with what to do", async () => {
  const old = agent({ name: "lead", model: new MockLanguageModelV3() });
  await assert.rejects(
    async () => run(old, "Go."),
    (error) =>
      error instanceof UserError && /specification v3 .* needs v4: update its provider package$/.test(error.message),
  );
});
