/** A budget that could pay for a fan-out never refuses it, at any width, over a real protocol. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { readOnlyTools } from "../../../../src/app/tools/read-only.ts";
import { agent } from "../../../../src/core/agent.ts";
import type { OnExhausted } from "../../../../src/core/limits.ts";
import { resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { fanOut, run } from "../../../../src/runtime.ts";
import { type Aimock, startAimock, usage } from "../../../support/runtime/model/aimock.ts";

const MODEL = "anthropic/claude-sonnet-4-5";

/** What one input costs: 2,000 tokens in and 300 out, at $3 and $15 per million. */
const EACH_USD = 0.0105;

async function scouts(server: Aimock, inputs: number, concurrency: number, costUsd: number, onExhausted: OnExhausted) {
  const scout = agent({ name: "scout", model: await resolveModel(MODEL, server.environment) });
  const tasks = Array.from({ length: inputs }, (_, index) => `Look at ${index}.`);
  const results = await fanOut(scout, tasks, { concurrency, budget: { costUsd }, onExhausted, maxConcurrentCalls: 64 });
  const requests = server.requests();
  return {
    completed: results.filter(({ status }) => status === "completed").length,
    costUsd: results.reduce((sum, result) => sum + (result.costUsd ?? 0), 0),
    requests: requests.length,
    caps: requests.map(({ body }) => (body as { max_tokens?: number }).max_tokens ?? 0),
    words: JSON.stringify(requests),
    errors: results.flatMap(({ error }) => (error === undefined ? [] : [error.message])),
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

function answering(): Promise<Aimock> {
  return startAimock([{ match: {}, response: { content: "Seen.", usage: usage(2000, 300) } }]);
}

suite("H1: 50 inputs that need $0.525", () => {
  for (const onExhausted of ["stop", "wrap-up"] as const) {
    // What every width is compared with.
    const oneAfterAnother = once(async () => {
      await using alone = await answering();
      return await scouts(alone, 50, 1, 0.3, onExhausted);
    });
    // Every width in a world without a network is a figure: R15.
    for (const limit of onExhausted === "stop" ? [10, 50] : [25]) {
      test(`50 inputs that need $0.525 all complete with $1, ${limit} at once (${onExhausted})`, async () => {
        await using server = await answering();
        const { completed, costUsd, requests, words, caps } = await scouts(server, 50, limit, 1, onExhausted);
        assert.deepEqual([completed, requests, costUsd.toFixed(4)], [50, 50, "0.5250"]);
        assert.deepEqual([...new Set(caps)], [4096], "no answer had less room than it asked for");
        assert.doesNotMatch(words, /You must stop now/);
      });

      test(`as many of 50 inputs complete with $0.30 as one after another, less at most one, ${limit} at once (${onExhausted})`, async () => {
        await using server = await answering();
        const inTurn = await oneAfterAnother();
        const atOnce = await scouts(server, 50, limit, 0.3, onExhausted);
        assert.ok(inTurn.completed >= 27, `${inTurn.completed} one after another`);
        assert.ok(atOnce.completed >= inTurn.completed - 1, `${atOnce.completed} of ${inTurn.completed}`);
        assert.ok(atOnce.costUsd <= 0.3, `${atOnce.costUsd}`);
        assert.equal(atOnce.requests, atOnce.completed, "no child was started only to be stopped");
        assert.equal(atOnce.errors.length, 50 - atOnce.completed);
        for (const message of atOnce.errors)
          assert.match(message, /^Cost limit (exceeded|reached): .*\(spent \$0\.\d+, .*: it was not started\)$/);
      });
    }
  }

  test("as many of 50 inputs complete with $0.10 and ten at once as that pays for", async () => {
    await using server = await answering();
    const { completed, costUsd } = await scouts(server, 20, 10, 0.1, "stop");
    assert.ok(completed >= Math.floor((0.1 - 0.0079) / EACH_USD) - 1, `${completed}`);
    assert.ok(costUsd <= 0.1, `${costUsd}`);
  });
});

test("H1: a quota as people write it: five of six children of 600 tokens complete, the sixth is one too many", async () => {
  const tasks = ["a", "b", "c", "d", "e", "f"].map((label) => ({ label, task_prompt: `Look at ${label}.` }));
  const call = { name: "parallel_subagent", arguments: JSON.stringify({ tasks }) };
  await using server = await startAimock([
    { match: { userMessage: "Begin", hasToolResult: false }, response: { toolCalls: [call], usage: usage(900, 90) } },
    { match: { userMessage: "Begin", hasToolResult: true }, response: { content: "Done.", usage: usage(900, 9) } },
    { match: {}, response: { content: "Seen.", usage: usage(500, 100) } },
  ]);
  const lead = agent({
    name: "lead",
    model: await resolveModel(MODEL, server.environment),
    delegate: true,
    tools: readOnlyTools(),
  });
  const limits = { children: { executions: 5, tokens: 10_000 } };
  const result = await run(lead, "Begin", { limits });
  assert.equal(result.status, "completed");
  const children = result.agents.filter(({ depth }) => depth === 1);
  assert.deepEqual(
    children.map(({ status, usage: { totalTokens } }) => [status, totalTokens]),
    Array.from({ length: 5 }, () => ["completed", 600]),
  );
  assert.match(JSON.stringify(server.requests().at(-1)), /Execution limit reached: 5\/5/);
});
