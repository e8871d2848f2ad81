/** Temperature, effort, tool choice and provider options on the wire of each provider. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { ModelSettings } from "../../../../src/core/model.ts";
import { resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { request, WEATHER } from "../../../support/runtime/model/requests.ts";

const KEYS = {
  ...{ ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k" },
  OPENAI_COMPATIBLE_BASE_URL: "http://host/v1",
};

// biome-ignore lint/suspicious/noExplicitAny: bodies of several protocols.
type Body = any;

async function bodyOf(id: string, settings: Partial<ModelSettings>, mayCallTools = true): Promise<Body> {
  let body = "";
  const model = await resolveModel(id, KEYS, {
    fetch: async (_, init) => {
      body = String(init?.body);
      return new Response("{}", { status: 401 });
    },
  });
  const asked = request({
    tools: [WEATHER],
    mayCallTools,
    settings: { maxOutputTokens: undefined, outputSchema: undefined, ...settings },
  });
  await assert.rejects(async () => model.answer(asked, () => {}));
  return JSON.parse(body);
}

suite("temperature", () => {
  const temperature = 0.2;
  test("temperature reaches every provider", async () => {
    assert.equal((await bodyOf("anthropic/claude-sonnet-4-5", { temperature })).temperature, 0.2);
    assert.equal((await bodyOf("openai/gpt-4.1", { temperature })).temperature, 0.2);
    assert.equal((await bodyOf("openai-chat/gpt-4.1", { temperature })).temperature, 0.2);
    assert.equal((await bodyOf("google/gemini-2.5-flash", { temperature })).generationConfig.temperature, 0.2);
    assert.equal((await bodyOf("openai-compatible/some-model", { temperature })).temperature, 0.2);
  });

  test("temperature is left out for models that take none", async () => {
    assert.equal((await bodyOf("openai/gpt-5", { temperature })).temperature, undefined);
    assert.equal((await bodyOf("anthropic/claude-opus-5", { temperature })).temperature, undefined);
  });
});

suite("effort", () => {
  const EFFORTS: readonly [id: string, settings: Partial<ModelSettings>, expected: object][] = [
    ["openai/gpt-5.5", { effort: "high" }, { reasoning: { effort: "high", summary: "detailed" } }],
    ["openai/gpt-4.1", { effort: "high" }, { reasoning: undefined }],
    ["openai-chat/o4-mini", { effort: "low" }, { reasoning_effort: "low" }],
    ["openai-chat/gpt-4o", { effort: "high" }, { reasoning_effort: undefined }],
    ["openai-compatible/some-model", { effort: "low" }, { reasoning_effort: "low" }],
    [
      "anthropic/claude-sonnet-5",
      { effort: "medium" },
      { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "medium" } },
    ],
    ["anthropic/claude-3-5-haiku-latest", { effort: "high" }, { thinking: undefined, max_tokens: 4096 }],
    ["anthropic/claude-sonnet-4-5", { effort: "none" }, { thinking: { type: "disabled" } }],
    [
      "anthropic/claude-sonnet-4-5",
      { effort: "high", maxOutputTokens: 10_000 },
      { thinking: { type: "enabled", budget_tokens: 6000 }, max_tokens: 10_000 },
    ],
    [
      "anthropic/claude-sonnet-4-5",
      { effort: "max", maxOutputTokens: 2048 },
      { thinking: { type: "enabled", budget_tokens: 1024 }, max_tokens: 2048 },
    ],
    [
      "anthropic/claude-sonnet-4-5",
      { effort: "high", maxOutputTokens: 512 },
      { thinking: { type: "disabled" }, max_tokens: 512 },
    ],
    [
      "anthropic/claude-sonnet-4-5",
      {
        maxOutputTokens: 4000,
        providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 50_000 } } },
      },
      { thinking: { type: "enabled", budget_tokens: 2976 }, max_tokens: 4000 },
    ],
  ];
  for (const [id, settings, expected] of EFFORTS) {
    test(`${JSON.stringify(settings)} of ${id} is ${JSON.stringify(expected)}`, async () => {
      const body = await bodyOf(id, settings);
      const found = Object.fromEntries(Object.keys(expected).map((key) => [key, body[key]]));
      assert.deepEqual(found, expected);
    });
  }

  test("effort of Gemini is a level, or a number of tokens below the cap", async () => {
    const three = await bodyOf("google/gemini-3-pro-preview", { effort: "high" });
    assert.deepEqual(three.generationConfig.thinkingConfig, { thinkingLevel: "high" });
    const two = await bodyOf("google/gemini-2.5-flash", { effort: "high", maxOutputTokens: 1000 });
    assert.deepEqual(two.generationConfig, { maxOutputTokens: 1000, thinkingConfig: { thinkingBudget: 600 } });
    const old = await bodyOf("google/gemini-2.0-flash", { effort: "high" });
    assert.equal(old.generationConfig.thinkingConfig, undefined);
  });

  test("effort never lets a call of Anthropic write more than the cap it was given", async () => {
    for (const effort of ["minimal", "low", "medium", "high", "xhigh", "max"] as const)
      for (const maxOutputTokens of [1, 64, 1024, 2047, 2048, 4096, 60_000])
        for (const id of [
          "claude-sonnet-4-5",
          "claude-opus-4-20250514",
          "claude-sonnet-5",
          "claude-3-7-sonnet-latest",
        ]) {
          const body = await bodyOf(`anthropic/${id}`, { effort, maxOutputTokens });
          assert(body.max_tokens <= maxOutputTokens, `${id} ${effort}: ${body.max_tokens} of ${maxOutputTokens}`);
        }
  });
});

suite("tool choice", () => {
  const choiceOf = async (id: string, toolChoice: ModelSettings["toolChoice"], mayCallTools?: boolean) => {
    const body = await bodyOf(id, { toolChoice }, mayCallTools);
    return body.tool_choice ?? body.toolConfig?.functionCallingConfig;
  };
  const named = { tool: "get_weather" };

  test("a tool choice is put into the words of every provider", async () => {
    const anthropic = "anthropic/claude-sonnet-4-5";
    assert.deepEqual(await choiceOf(anthropic, "required"), { type: "any" });
    assert.deepEqual(await choiceOf(anthropic, named), { type: "tool", name: "get_weather" });
    assert.deepEqual(await choiceOf("openai/gpt-5.5", "required"), "required");
    assert.deepEqual(await choiceOf("openai/gpt-5.5", named), { type: "function", name: "get_weather" });
    assert.deepEqual(await choiceOf("openai-chat/gpt-4.1", named), {
      type: "function",
      function: { name: "get_weather" },
    });
    assert.deepEqual(await choiceOf("google/gemini-2.5-flash", named), {
      mode: "ANY",
      allowedFunctionNames: ["get_weather"],
    });
    assert.deepEqual(await choiceOf("openai-compatible/some-model", "required"), "required");
  });

  test("a tool choice gives way in a turn without tools", async () => {
    assert.deepEqual(await choiceOf("openai/gpt-5.5", "required", false), "none");
  });

  test("a tool choice that forces a call lets no model of Anthropic think in that turn: it would refuse the request", async () => {
    const body = await bodyOf("anthropic/claude-sonnet-5", { toolChoice: "required", effort: "high" });
    assert.deepEqual([body.tool_choice, body.thinking], [{ type: "any" }, undefined]);
  });
});

suite("provider options", () => {
  test("provider options reach the adapter beside those that sous sets, and go before them", async () => {
    const providerOptions = { openai: { serviceTier: "flex" }, anthropic: { speed: "fast" } };
    const body = await bodyOf("openai/gpt-5.5", { providerOptions });
    assert.deepEqual([body.service_tier, body.store], ["flex", false]);
    const stored = await bodyOf("openai/gpt-5.5", { providerOptions: { openai: { store: true } } });
    assert.equal(stored.store, true);
  });
});
