/** An answer that breaks off is paid for: on the wire of each protocol, in each kind of part, to no less than the provider bills. */

import assert from "node:assert/strict";
import { after, suite, test } from "node:test";
import { anthropic } from "@ai-sdk/anthropic";
import { cutsOf, isReached, measureCuts } from "../../../figures/r4-cuts.ts";
import { askOnce as ask, CAP, event, LONG_EVENT } from "../../../support/runtime/model/ask-once.ts";

const alive = setInterval(() => {}, 1000);
after(() => clearInterval(alive));

suite("R4: a call that is cut three times is charged with no less than its provider bills, and the limit holds", () => {
  for (const [index, cut] of cutsOf().entries()) {
    // The whole table is a figure: each place under both limits, and cut at any byte.
    const budget = index % 2 === 0 ? { tokens: 24_000 } : { costUsd: 0.3 };
    test(`R4: ${cut.wire.model}, cut ${cut.place}, with a limit of ${JSON.stringify(budget)}`, async () => {
      const figure = await measureCuts({ ...cut, budget, children: 2 });
      assert.ok(isReached(figure), JSON.stringify(figure));
      assert.ok(figure.bill.cuts >= 3, "otherwise nothing was shown");
    });
  }
});

const STARTED = event({
  type: "message_start",
  message: {
    ...{ id: "m", type: "message", role: "assistant", content: [], model: "m" },
    usage: { input_tokens: 500, cache_read_input_tokens: 300, cache_creation_input_tokens: 200, output_tokens: 1 },
  },
});
const opens = (index: number, content_block: object) => event({ type: "content_block_start", index, content_block });
const words = (content: string) => event({ choices: [{ index: 0, delta: { content } }] });

test("R4: the prompt that a provider has reported is charged as it was reported, with the parts of its cache", async () => {
  const { usage, costUsd } = await ask(STARTED);
  assert.deepEqual(usage, {
    ...{ inputTokens: 1000, cachedInputTokens: 300, cacheWriteTokens: 200, outputTokens: 0, totalTokens: 1000 },
    estimated: true,
  });
  assert.equal(costUsd?.toFixed(6), ((500 * 3 + 300 * 0.3 + 200 * 3.75) / 1e6).toFixed(6));
});

test("R4: of a report that was cut no number is believed", async () => {
  const { usage } = await ask(STARTED.slice(0, STARTED.indexOf("00,")));
  assert.ok(usage.inputTokens > 5 && usage.inputTokens !== 500, `${usage.inputTokens}`);
});

test("R4: the arguments of a call cannot pass for the report of the prompt", async () => {
  const call = {
    functionCall: { name: "look", args: { promptTokenCount: 1, usageMetadata: { promptTokenCount: 1 } } },
  };
  const first = { candidates: [{ content: { parts: [call] } }], usageMetadata: { promptTokenCount: 700 } };
  const { usage } = await ask(event(first), { model: "google/gemini-3-pro" });
  assert.equal(usage.inputTokens, 700);
});

test("R4: of an event that has begun the bytes count that arrived", async () => {
  const { usage } = await ask(words("Yes.") + LONG_EVENT, { model: "openai-compatible/m" });
  assert.ok(usage.outputTokens >= 1000 && usage.outputTokens < 1100, `${usage.outputTokens}`);
});

test("R4: an estimate is held to the cap, and hidden thinking costs the whole of it, also where its event was cut", async () => {
  const long = await ask(words("x".repeat(9000)), { model: "openai-compatible/m", budget: { tokens: 9000 } });
  assert.equal(long.usage.outputTokens, CAP);
  for (const thought of [
    opens(0, { type: "redacted_thinking", data: "x" }),
    opens(0, { type: "redacted_thinking", data: "x".repeat(900) }).slice(0, 200),
  ]) {
    const { usage } = await ask(STARTED + thought, { budget: { tokens: 9000 } });
    assert.equal(usage.outputTokens, CAP);
  }
});

test("R4: what a tool of the provider has found is charged as a part of the prompt, and its call with the fee", async () => {
  const search = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
  const page = { type: "web_search_result", url: "http://a", title: "A", encrypted_content: "x".repeat(3000) };
  const found = { type: "web_search_tool_result", tool_use_id: "s", content: [page] };
  const called = STARTED + opens(0, search) + event({ type: "content_block_stop", index: 0 });
  const tools = { web_search: anthropic.tools.webSearch_20250305() };
  const before = await ask(called, { tools });
  const behind = await ask(called + opens(1, found), { tools });
  assert.deepEqual([before.usage.inputTokens, before.usage.outputTokens], [1000, CAP]);
  assert.ok(behind.usage.inputTokens >= 2000 && behind.usage.outputTokens === 2000, JSON.stringify(behind.usage));
  const tokensUsd = (500 * 3 + 300 * 0.3 + 200 * 3.75 + CAP * 15) / 1e6;
  assert.equal(before.costUsd?.toFixed(6), (tokensUsd + 0.01).toFixed(6));
});

test("R4: a run that is stopped while its model thinks unseen is charged with the prompt and the cap", async () => {
  const stop = new AbortController();
  const accepted: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    setImmediate(() => stop.abort());
    return response;
  };
  const asked = { model: "openai-chat/gpt-5.5", signal: stop.signal, fetch: accepted, isOpen: true };
  const { status, usage } = await ask(": hello\n\n", asked);
  assert.equal(status, "cancelled");
  assert.ok(usage.inputTokens > 0 && usage.outputTokens === CAP && usage.estimated, JSON.stringify(usage));
});

test("R4: a call that its server refuses within an answer costs nothing, also of a model that thinks unseen", async () => {
  const refusal = event({ error: { message: "Slow down", code: 429 } });
  for (const model of ["openai-chat/gpt-5.5", "openai-compatible/m"]) {
    const { status, usage } = await ask(refusal, { model });
    assert.deepEqual([status, usage.totalTokens], ["failed", 0]);
  }
});

test("an answer that broke off is said to have broken off, whatever its adapter makes of the rest", async () => {
  for (const model of ["openai-compatible/m", "openai-chat/gpt-5.5", "openai/gpt-5.5", "anthropic/claude-sonnet-4-5"]) {
    const { error } = await ask(": hello\n\nda", { model });
    assert.equal(error?.message, `The answer of ${model} broke off: terminated`);
  }
});
