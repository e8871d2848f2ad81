/** I4: the machinery of parallel_subagent is open to code. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../src/core/agent.ts";
import type { SousEvent, StoredEvent } from "../../src/core/event.ts";
import type { RunResult, RuntimeOptions } from "../../src/core/runtime.ts";
import { createRuntime, type FanOutOptions } from "../../src/runtime.ts";
import { checkHistory } from "../../src/testing/checker.ts";
import type { Script } from "../../src/testing/script.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { after, calls, fails, hangs, refuses, says, uses } from "../../src/testing/steps.ts";
import { createWorld, type World } from "../../src/testing/world.ts";
import { recordingTool } from "./run-tree.ts";

type Given = {
  script: Script;
  options?: FanOutOptions;
  runtime?: RuntimeOptions;
  definition?: Parameters<typeof agent>[0];
  during?(world: World): void;
};

/** A fan-out of an agent called `scout` in a world of its own, with the checks that always hold. */
async function fanOut(inputs: readonly string[], { script, options, runtime, definition, during }: Given) {
  const world = createWorld({ seed: 1, lateness: 0 });
  const model = scriptedModel(script, { clock: world.clock });
  const events: SousEvent[] = [];
  const scout = agent({ name: "scout", model, ...definition });
  const results = await world.run(() => {
    during?.(world);
    const onEvent = (event: SousEvent) => void events.push(event);
    return createRuntime({ ...runtime, host: world.host }).fanOut(scout, inputs, { ...options, onEvent });
  });
  const stored = events.filter((event): event is StoredEvent => event.seq !== undefined);
  assert.deepEqual(checkHistory(stored), []);
  assert.equal(world.clock.liveTimers, 0, "a timer is left");
  return { results, events: stored, model, world };
}

function inShort(results: readonly RunResult[]) {
  return results.map(({ status, text, error }) => [status, text, error?.message]);
}

suite("I4: fanOut", () => {
  test("I4: gives one result per input, in order, at most `limit` at once", async () => {
    const { results, world, events } = await fanOut(["auth", "billing", "jobs"], {
      script: {
        "fan-out/scout": [[after(3000), says("Auth.")]],
        "fan-out/scout#2": [[after(1000), says("Billing.")]],
        "fan-out/scout#3": [[after(1000), says("Jobs.")]],
      },
      options: { limit: 2 },
    });
    assert.deepEqual(inShort(results), [
      ["completed", "Auth.", undefined],
      ["completed", "Billing.", undefined],
      ["completed", "Jobs.", undefined],
    ]);
    assert.equal(world.clock.monotonic(), 3000);
    assert.deepEqual(
      results.map(({ agents }) => agents.map(({ path }) => path)),
      [["fan-out/scout"], ["fan-out/scout#2"], ["fan-out/scout#3"]],
    );
    assert.equal(events.filter(({ type }) => type === "run-end").length, 4);
  });

  test("I4: never rejects: every ending is a result of its own", async () => {
    const { results } = await fanOut(["works", "crashes", "refuses", "hangs", " ", "asks"], {
      script: {
        "fan-out/scout": [says("Done.")],
        "fan-out/scout#2": [fails(new TypeError("boom"))],
        "fan-out/scout#3": [[says("No."), refuses()]],
        "fan-out/scout#4": [hangs()],
        "fan-out/scout#5": [calls("write", { to: "x" }), says("Wrote it.")],
      },
      definition: { name: "scout", timeoutMs: 1000, tools: [recordingTool("write", { tier: "confirm" })] },
    });
    assert.deepEqual(inShort(results), [
      ["completed", "Done.", undefined],
      ["failed", "", "The model failed: boom"],
      ["refused", "No.", "The model refused the task"],
      ["timeout", "", "Subagent timed out after 1000 ms"],
      ["failed", "", "task_prompt cannot be empty"],
      ["incomplete", "Wrote it.", undefined],
    ]);
    assert.equal(results[5]?.stopReason, "consent");
    assert.deepEqual(results[5]?.denied, [{ path: "fan-out/scout#5", toolName: "write", input: { to: "x" } }]);
    assert.deepEqual(results[0]?.denied, []);
  });

  test("I4: a model that cannot be had fails every input and rejects nothing", async () => {
    const { results } = await fanOut(["a", "b"], { script: {}, definition: { name: "scout", model: undefined } });
    assert.deepEqual(
      results.map(({ status, error }) => [status, /No model/.test(error?.message ?? "")]),
      [
        ["failed", true],
        ["failed", true],
      ],
    );
    const unknown = await fanOut(["a"], { script: {}, definition: { name: "scout", model: "no-such-provider/x" } });
    assert.equal(unknown.results[0]?.status, "failed");
  });

  test("I4: nothing to do is no result, and a limit below one means one at a time", async () => {
    assert.deepEqual((await fanOut([], { script: {} })).results, []);
    const { results, world } = await fanOut(["a", "b"], {
      script: { "**": [[after(1000), says("Done.")]] },
      options: { limit: 0 },
    });
    assert.deepEqual([results.length, world.clock.monotonic()], [2, 2000]);
  });

  test("I4: the limit of the whole tree holds as well, five by default", async () => {
    const inputs = Array.from({ length: 10 }, (_, index) => `Input ${index}`);
    const script = { "**": [[after(1000), says("Done.")]] };
    assert.equal((await fanOut(inputs, { script })).world.clock.monotonic(), 2000);
    const wide = await fanOut(inputs, { script, runtime: { limits: { maxConcurrent: 10 } } });
    assert.equal(wide.world.clock.monotonic(), 1000);
  });

  test("I4: cancelling gives a result for every input, started or not, after all have stopped", async () => {
    const stop = new AbortController();
    const { results, events } = await fanOut(["a", "b", "c", "d", "e"], {
      script: { "**": [[after(2000), says("Done.")]] },
      options: { limit: 2, signal: stop.signal },
      during: (world) => void world.clock.ownTimer(3000, () => stop.abort()),
    });
    assert.deepEqual(
      results.map(({ status }) => status),
      ["completed", "completed", "cancelled", "cancelled", "cancelled"],
    );
    assert.deepEqual([events.at(-1)?.type, events.at(-1)?.path], ["run-end", "fan-out"]);
  });

  test("I4: one tree, one budget: all of it is for the children", async () => {
    const { results } = await fanOut(["a", "b", "c"], {
      script: { "**": [[says("Done."), uses({ input: 100, output: 100 })]] },
      options: { limit: 1, budget: { tokens: 1300, executions: 2 } },
    });
    assert.deepEqual(inShort(results), [
      ["completed", "Done.", undefined],
      ["completed", "Done.", undefined],
      ["budget_exceeded", "", "Execution limit reached: 2/2"],
    ]);
  });

  test("I4: a thousand inputs are quick, and each result has its own agents only", async () => {
    const startedAt = performance.now();
    const { results } = await fanOut(
      Array.from({ length: 1000 }, (_, index) => `Input ${index}`),
      { script: { "**": [says("Done.")] }, runtime: { limits: { maxConcurrent: 100 } } },
    );
    assert.equal(results.filter(({ status, agents }) => status === "completed" && agents.length === 1).length, 1000);
    assert.ok(performance.now() - startedAt < 2000);
  });
});
