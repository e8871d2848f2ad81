/** The shipped table of prices. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { costOf, noUsage } from "../../../../src/core/usage.ts";
import { PRICES, PRICES_AS_OF, priceOf } from "../../../../src/runtime/budget/prices.ts";

test("a model is found by provider and name, with or without a version", () => {
  const sonnet = {
    price: { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 },
    contextWindow: 200_000,
  };
  for (const version of ["", "-20250929", "@20250929", "@default"]) {
    assert.deepEqual(priceOf(`anthropic/claude-sonnet-4-5${version}`), sonnet);
  }
  const mini = { price: { input: 0.4, output: 1.6, cachedInput: 0.1 }, contextWindow: 1_047_576 };
  assert.deepEqual(priceOf("openai/gpt-4.1-mini-2025-04-14"), mini);
  assert.equal(priceOf("google/gemini-2.0-flash-001")?.price.input, 0.1);
  assert.equal(priceOf("anthropic/claude-opus-4-20250514")?.price.output, 75);
});

test("a dated model with a price of its own keeps it", () => {
  assert.equal(priceOf("openai/gpt-4o-2024-05-13")?.price.input, 5);
  assert.equal(priceOf("openai/gpt-4o-2024-11-20")?.price.input, 2.5);
});

test("an unknown model has no price: neither guessed from a similar name nor taken from another provider", () => {
  const unknown = [
    ...["anthropic/claude-sonnet-99", "openai/gpt-4.1-mega", "openai/gpt-5-mini-ft", "openai/", "/", "", "gpt-4o"],
    ...["ollama/llama3.3", "openrouter/anthropic/claude-sonnet-4-5", "azure/gpt-4o", "google/claude-sonnet-4-5"],
    ...["openai/constructor", "__proto__/toString", "constructor/name"],
  ];
  assert.deepEqual(
    unknown.filter((id) => priceOf(id) !== undefined),
    [],
  );
});

test("every row is plausible: output costs more than input, cached input less, and the table is dated", () => {
  const odd = Object.entries(PRICES).flatMap(([provider, models]) =>
    Object.entries(models)
      .filter(([, [input, output, cachedInput, cacheWrite, contextWindow]]) => {
        const isCacheFine = (cachedInput ?? 0) < input && (cacheWrite ?? input) >= input;
        return !(input > 0 && output > input && isCacheFine && contextWindow >= 100_000);
      })
      .map(([name]) => `${provider}/${name}`),
  );
  assert.deepEqual(odd, []);
  assert.match(PRICES_AS_OF, /^\d{4}-\d{2}-\d{2}$/);
});

test("chat completions cost what responses cost", () => {
  const facts = priceOf("openai/gpt-5");
  assert.ok(facts !== undefined);
  assert.deepEqual(priceOf("openai-chat/gpt-5"), facts);
});

test("a price that cannot be makes a cost that is unknown, and no gain", () => {
  const usage = { ...noUsage(), inputTokens: 1000, outputTokens: 500, totalTokens: 1500 };
  assert.equal(costOf(usage, { input: 1, output: 2 }), 0.002);
  for (const input of [-3, Number.NaN, Number.POSITIVE_INFINITY])
    assert.equal(costOf(usage, { input, output: 2 }), null);
});
