/** H5: no deadlock: slots of a tree are for runs at work, slots of a model for calls, and a refusal holds everybody on the model. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { after, calls, fails, says } from "../../../src/testing/steps.ts";
import { createWorld } from "../../../src/testing/world.ts";
import { parallelOutput, recordingTool, runTree, statuses } from "../../support/requirements/run-tree.ts";

function child(label: string, more: Record<string, unknown> = {}) {
  return calls("subagent", { label, task_prompt: `Do ${label}.`, ...more });
}

function inParallel(labels: readonly string[], options: Record<string, unknown> = {}) {
  return calls("parallel_subagent", {
    tasks: labels.map((label) => ({ label, task_prompt: `Do ${label}.` })),
    ...options,
  });
}

suite("H5: slots of a tree", () => {
  test("H5: a parent that waits for children holds no slot, so that one slot is enough for any depth and width", async () => {
    const { result } = await runTree({
      script: {
        lead: [inParallel(["a", "b"]), says("Seen.")],
        "lead/*": [inParallel(["c", "d"]), says("Done.")],
        "lead/*/*": [child("e"), says("Done.")],
        "lead/*/*/*": [[after(100), says("Done.")]],
      },
      runtime: { limits: { maxConcurrent: 1 }, maxConcurrentCalls: 1 },
    });
    assert.equal(result.agents.length, 11);
    assert.deepEqual([...new Set(Object.values(statuses(result)))], ["completed"]);
    assert.equal(result.durationMs, 400);
  });

  test("H5: a run that waits for background children, for approval, or with subagent_wait holds no slot", async () => {
    const { result } = await runTree({
      script: {
        lead: [child("a"), says("Seen.")],
        "lead/a": [
          child("bg", { background: true }),
          calls("subagent_wait", {}),
          calls("write"),
          child("bg", { background: true }),
          says("Wait."),
          says("Done."),
        ],
        "lead/a/*": [calls("write"), [after(100), says("Done.")]],
      },
      lead: { tools: [recordingTool("write", { tier: "confirm" })] },
      runtime: { limits: { maxConcurrent: 1 }, maxConcurrentCalls: 1, approve: () => ({ allow: true }) },
    });
    assert.deepEqual([...new Set(Object.values(statuses(result)))], ["completed"]);
  });

  test("H5: a run that wakes goes before one that has not started where there is one slot", async () => {
    const order: string[] = [];
    await runTree({
      script: {
        lead: [inParallel(["a", "b"], { max_concurrent: 2 }), says("Seen.")],
        "lead/a": [child("x"), [after(100), says("Done.")]],
        "lead/a/x": [[after(100), says("Done.")]],
        "lead/b": [[after(100), says("Done.")]],
      },
      runtime: { limits: { maxConcurrent: 1 } },
      run: { onEvent: (event) => void (event.type === "run-end" ? order.push(event.path) : undefined) },
    });
    assert.deepEqual(order.indexOf("lead/a/x") < order.indexOf("lead/a"), true);
    assert.equal(order.at(-1), "lead");
  });

  test("H5: a tree that refuses when full counts only those at work: nested delegation is possible with one slot", async () => {
    const { result } = await runTree({
      script: {
        lead: [child("a"), says("Seen.")],
        "lead/a": [child("b"), says("Done.")],
        "lead/a/b": [child("c"), says("Done.")],
        "lead/a/b/c": [says("Done.")],
      },
      runtime: { limits: { maxConcurrent: 1, onFull: "refuse" } },
    });
    assert.equal(result.agents.length, 4);
  });
});

suite("H5: slots of a model", () => {
  test("H5: slots of a model are held for a call, first come first served, by all runs on the model", async () => {
    const { result, stage } = await runTree({
      script: {
        lead: [inParallel(["a", "b", "c", "d"]), says("Seen.")],
        "lead/*": [[after(1000), says("Done.")]],
      },
      runtime: { maxConcurrentCalls: 2 },
    });
    assert.equal(result.durationMs, 2000);
    assert.deepEqual(
      parallelOutput(stage).results.map(({ duration_ms }) => duration_ms),
      [1000, 1000, 2000, 2000],
    );
  });

  test("H5: a cancelled run leaves the line, and its slot goes to the next", async () => {
    const { result } = await runTree({
      script: {
        lead: [inParallel(["a", "b", "c"]), says("Seen.")],
        "lead/a": [[after(5000), says("Late.")]],
        "lead/b": [[after(1000), says("Never.")]],
        "lead/c": [[after(1000), says("Done.")]],
      },
      runtime: { maxConcurrentCalls: 1 },
      during({ handle, at }) {
        at(500, () => handle.cancel("lead/b"));
        at(1000, () => handle.cancel("lead/a"));
      },
    });
    assert.deepEqual(statuses(result), {
      lead: "completed",
      "lead/a": "cancelled",
      "lead/b": "cancelled",
      "lead/c": "completed",
    });
    assert.equal(result.durationMs, 2000);
  });

  test("H5: a run that waits to ask again has given its slot back once, and has none to give when it is cancelled", async () => {
    const { result, stage } = await runTree({
      script: {
        lead: [inParallel(["a", "b", "c"]), says("Seen.")],
        "lead/a": [fails("interrupted", { retryAfterMs: 100 }), says("Never.")],
        "lead/*": [[after(1000), says("Done.")]],
      },
      runtime: { maxConcurrentCalls: 1 },
      during: ({ handle, at }) => at(500, () => handle.cancel("lead/a")),
    });
    assert.deepEqual(
      parallelOutput(stage).results.map(({ duration_ms }) => duration_ms),
      [500, 1000, 2000],
    );
    assert.equal(result.durationMs, 2000);
  });
});

suite("H5: the governor", () => {
  test("H5: a 429 holds all runs on the model for as long as the provider asked", async () => {
    const asked: [path: string, at: number][] = [];
    let now = (): number => 0;
    const { result, stage } = await runTree({
      script: {
        lead: [inParallel(["hit", "late"]), says("Seen.")],
        "lead/hit": [fails("rate_limit", { retryAfterMs: 30_000 }), says("Done.")],
        "lead/late": [[after(1000), child("below")], says("Done.")],
        "lead/late/below": [says("Done.")],
      },
      model: { onRequest: ({ caller }) => void asked.push([caller.path, now()]) },
      during({ stage: { world } }) {
        now = world.clock.monotonic;
      },
    });
    assert.equal(result.status, "completed");
    const at = (path: string) => asked.filter(([each]) => each === path).map(([, time]) => time);
    assert.deepEqual(at("lead/hit"), [0, 30_000]);
    // Asked before the refusal, answered after it; whatever came later had to wait.
    assert.deepEqual(at("lead/late").slice(0, 1), [0]);
    assert.deepEqual(at("lead/late/below"), [30_000]);
    const [retry] = stage.eventsOf("retry");
    assert.deepEqual([retry?.path, retry?.kind, retry?.delayMs, retry?.attempt], ["lead/hit", "rate_limit", 30_000, 1]);
  });

  test("H5: a run that waited for the slot of the refused call is held as well", async () => {
    const asked: [path: string, at: number][] = [];
    let now = (): number => 0;
    await runTree({
      script: {
        lead: [inParallel(["hit", "next"]), says("Seen.")],
        "lead/hit": [[after(1000), fails("rate_limit", { retryAfterMs: 30_000 })], says("Done.")],
        "lead/next": [says("Done.")],
      },
      runtime: { maxConcurrentCalls: 1 },
      model: { onRequest: ({ caller }) => void asked.push([caller.path, now()]) },
      during({ stage: { world } }) {
        now = world.clock.monotonic;
      },
    });
    assert.deepEqual(
      asked.find(([path]) => path === "lead/next"),
      ["lead/next", 31_000],
    );
  });

  test("H5: the wait grows without Retry-After, with jitter, and is held by all as well", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [fails("rate_limit"), fails("overloaded"), fails("rate_limit"), fails("overloaded"), says("At last.")],
      },
      lead: { delegate: false },
    });
    assert.equal(result.status, "completed");
    const delays = stage.eventsOf("retry").map(({ delayMs }) => delayMs);
    for (const [index, delay] of delays.entries()) {
      const ceiling = 500 * 2 ** index;
      assert.ok(delay >= ceiling / 2 && delay <= ceiling, `${delays}`);
    }
    assert.equal(
      result.durationMs,
      delays.reduce((sum, delay) => sum + delay, 0),
    );
  });

  test("H5: another tree on the same model is held too, one on another model is not", async () => {
    const world = createWorld({ seed: 1, lateness: 0 });
    const options = { clock: world.clock };
    const busy = scriptedModel(
      { one: [fails("rate_limit", { retryAfterMs: 10_000 }), says("One.")], two: [says("Two.")] },
      options,
    );
    const other = scriptedModel({ three: [says("Three.")] }, options);
    const endedAt: Record<string, number> = {};
    await world.run(async () => {
      const { run } = createRuntime({ host: world.host });
      const start = async (name: string, model: typeof busy) => {
        await run(agent({ name, model }), "Go.");
        endedAt[name] = world.clock.monotonic();
      };
      const first = start("one", busy);
      await new Promise((resolve) => world.clock.ownTimer(1, () => resolve(undefined)));
      await Promise.all([first, start("two", busy), start("three", other)]);
    });
    assert.deepEqual(endedAt, { one: 10_000, two: 10_000, three: 1 });
  });

  test("H5: a spend limit is not tried again, and cancel ends the wait", async () => {
    const spent = await runTree({ script: { lead: [fails("spend_limit", { message: "out of credit" })] } });
    assert.deepEqual([spent.result.status, spent.result.error?.message], ["failed", "out of credit"]);
    assert.equal(spent.stage.model.requestCount, 1);

    const held = await runTree({
      script: { lead: [fails("rate_limit", { retryAfterMs: 300_000 })] },
      during: ({ handle, at }) => at(1000, () => handle.cancel()),
    });
    assert.deepEqual([held.result.status, held.result.durationMs], ["cancelled", 1000]);
  });
});
