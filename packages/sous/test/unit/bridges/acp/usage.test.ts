/** Usage that agents report, and how much of it is believed. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { SessionCost, usageOf, usageOfContext } from "../../../../src/bridges/acp/usage.ts";

function tokensOf(answer: { usage?: unknown; _meta?: unknown }, agentName?: string) {
  const found = usageOf({ stopReason: "end_turn", ...answer }, agentName);
  return found && [found.inputTokens, found.outputTokens, found.totalTokens];
}

suite("D5: tokens of a prompt", () => {
  const claude = { inputTokens: 1890, outputTokens: 52, totalTokens: 1942 };

  test("D5: the tokens of a prompt are where each agent puts them, and the largest figure counts", () => {
    assert.deepEqual(tokensOf({ usage: claude }), [1890, 52, 1942]);
    const token_count = { input_tokens: 1890, output_tokens: 52 };
    assert.deepEqual(tokensOf({ _meta: { quota: { token_count, model_usage: [] } } }), [1890, 52, 1942]);
    const title = { token_count: { inputTokens: 900, outputTokens: 40 } };
    const model_usage = [{ token_count: { inputTokens: 1890, outputTokens: 52 } }, title];
    assert.deepEqual(tokensOf({ usage: claude, _meta: { quota: { model_usage } } }), [2790, 92, 2882]);
    assert.equal(tokensOf({}), undefined);
  });

  test("D5: opencode counts its last call only, so its figures are an estimate", () => {
    const answer = { stopReason: "end_turn", usage: { inputTokens: 990, outputTokens: 12, totalTokens: 1002 } };
    assert.equal(usageOf(answer, "OpenCode")?.estimated, true);
    assert.equal(usageOf(answer, "claude")?.estimated, false);
  });

  test("D5: the size of a context is an estimate, where nothing else is said", () => {
    const found = usageOfContext(1002);
    assert.deepEqual([found?.totalTokens, found?.estimated], [1002, true]);
    for (const lie of [0, -1, 1e15]) assert.equal(usageOfContext(lie), undefined);
  });

  test("D5: the number of tokens read from a cache is part of the input, whether it is counted beside or within it", () => {
    const beside = { inputTokens: 1000, cachedReadTokens: 11_000, outputTokens: 345, totalTokens: 12_345 };
    assert.deepEqual(tokensOf({ usage: beside }), [12_000, 345, 12_345]);
    const within = { inputTokens: 12_000, cachedReadTokens: 11_000, outputTokens: 345, totalTokens: 12_345 };
    assert.deepEqual(tokensOf({ usage: within }), [12_000, 345, 12_345]);
  });

  for (const lie of [0, -5, 1.5, 1e15, Number.POSITIVE_INFINITY, Number.NaN, "900", null, [1], { toString: 1 }]) {
    test(`D5: a count of ${JSON.stringify(lie)} (${String(typeof lie)}) is unknown`, () => {
      assert.equal(tokensOf({ usage: { inputTokens: lie, outputTokens: lie, totalTokens: lie } }), undefined);
      assert.equal(tokensOf({ usage: lie, _meta: lie }), undefined);
    });
  }
});

suite("D5: the cost of a prompt", () => {
  const usd = (amount: number) => ({ amount, currency: "USD" });

  function costs(isNew: boolean, ...reports: ({ amount: number; currency: string } | "prompt")[]): number | undefined {
    const cost = new SessionCost(isNew);
    for (const each of reports) {
      if (each === "prompt") cost.startPrompt();
      else cost.report(each);
    }
    return cost.ofPrompt;
  }

  test("D5: the cost of a prompt is the difference to what the session had cost before", () => {
    assert.equal(costs(true, "prompt", usd(0.25)), 0.25);
    assert.equal(costs(true, "prompt", usd(0.25), "prompt", usd(0.5), usd(0.75)), 0.5);
  });

  test("D5: the cost of a prompt in a loaded session is unknown until the agent has said what it had cost", () => {
    assert.equal(costs(false, "prompt", usd(0.25)), undefined);
    assert.equal(costs(false, usd(0.25), "prompt", usd(0.5)), 0.25);
    assert.equal(costs(false, "prompt", usd(0.25), "prompt", usd(0.5)), 0.25);
  });

  test("D5: a cost of nothing, 0, another currency, or a falling or impossible amount is unknown", () => {
    assert.equal(costs(true, "prompt"), undefined);
    assert.equal(costs(true, "prompt", usd(0)), undefined);
    assert.equal(costs(true, "prompt", { amount: 3, currency: "EUR" }), undefined);
    assert.equal(costs(true, "prompt", usd(-1)), undefined);
    assert.equal(costs(true, "prompt", usd(Number.NaN)), undefined);
    assert.equal(costs(true, "prompt", usd(1e9)), undefined);
    assert.equal(costs(true, "prompt", usd(5), "prompt", usd(1)), undefined);
    assert.equal(costs(true, "prompt", usd(5), "prompt", usd(1), usd(6)), undefined);
  });
});
