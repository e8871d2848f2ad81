/** I3: what counts as the first failure, and where the others may be when it comes. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { type Answer, after, calls, fails, hangs, refuses, says, streams } from "../../../src/testing/steps.ts";
import type { World } from "../../../src/testing/world.ts";
import { inParallel, inShort, parallelOutput, runTree, statuses } from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

type FirstFailure = {
  turns?: readonly Answer[];
  task?: Record<string, unknown>;
  /** When the others are stopped, in milliseconds of the world. */
  at: number;
  status: string | undefined;
  /** Why the other one ended, when it had not started. */
  other?: string;
};

const FAILURES: Record<string, FirstFailure> = {
  "a model error": { turns: [[after(400), fails("auth")]], at: 400, status: "failed" },
  "a crash": { turns: [[after(400), fails(new Error("boom"))]], at: 400, status: "failed" },
  "a refusal of the model": { turns: [[after(300), says("No."), refuses()]], at: 300, status: "refused" },
  "a timeout": { turns: [hangs()], task: { timeout_ms: 500 }, at: 500, status: "timeout" },
  "being cancelled by somebody": { turns: [hangs()], at: 700, status: "cancelled" },
  "a budget of its own that is spent": {
    turns: [[after(600), calls("look", { at: "x".repeat(30_000) })], says("Half.")],
    task: { agent: "poor" },
    at: 600,
    status: "budget_exceeded",
  },
  "a refusal of the gate": {
    task: { agent: "nobody" },
    at: 0,
    status: undefined,
    other: "Subagent cancelled before it started",
  },
  "a failure after retries": {
    turns: Array.from({ length: 5 }, () => fails("network", { retryAfterMs: 150 })),
    at: 600,
    status: "failed",
  },
};

suite("I3: the first failure", () => {
  for (const [name, { turns = [], task, at: moment, status, other = "Subagent cancelled (talks)" }] of Object.entries(
    FAILURES,
  )) {
    test(`I3: ${name} stops the others at that moment`, async () => {
      const { stage, result } = await runTree({
        script: {
          lead: [inParallel([{ label: "talks" }, { label: "first", ...task }], { fail_fast: true }), says("Seen.")],
          "lead/talks": [[streams("Half", "."), hangs()]],
          "lead/first": turns,
        },
        lead: { tools: [simpleTool("look")] },
        runtime: { agents: [agent({ name: "poor", budget: { tokens: 8000 } })] },
        during: ({ handle, at }) => at(700, () => handle.cancel("lead/first")),
      });
      const output = parallelOutput(stage);
      assert.deepEqual(inShort(output), [
        ["talks", false, "cancelled"],
        ["first", false, status],
      ]);
      assert.deepEqual([output.results[0]?.error, output.total_duration_ms], [other, moment]);
      assert.deepEqual([result.status, result.text, result.durationMs], ["completed", "Seen.", moment]);
    });
  }

  test("I3: a failure below a task is that task's own matter", async () => {
    const { stage } = await runTree({
      script: {
        lead: [inParallel([{ label: "nest" }, { label: "slow" }], { fail_fast: true }), says("Seen.")],
        "lead/nest": [inParallel([{ label: "x" }, { label: "y" }], { fail_fast: true }), says("One failed.")],
        "lead/nest/x": [[after(100), fails("auth")]],
        "lead/nest/y": [hangs()],
        "lead/slow": [[after(1000), says("Done.")]],
      },
    });
    assert.deepEqual(inShort(parallelOutput(stage, "lead/nest")), [
      ["x", false, "failed"],
      ["y", false, "cancelled"],
    ]);
    assert.equal(parallelOutput(stage, "lead/nest").total_duration_ms, 100);
    assert.deepEqual(inShort(parallelOutput(stage)), [
      ["nest", true, "complete"],
      ["slow", true, "complete"],
    ]);
  });
});

suite("I3: where the others are", () => {
  test("I3: fail_fast stops tasks that ask, wait, retry, sum up or have children of their own", async () => {
    let withdrawn = 0;
    const labels = ["asks", "retries", "thinks", "sums_up", "has_background", "has_nest", "done"];
    const { stage, result } = await runTree({
      script: {
        lead: [
          inParallel([{ label: "fails" }, ...labels.map((label) => ({ label }))], {
            fail_fast: true,
            max_concurrent: 10,
          }),
          says("Seen."),
        ],
        "lead/fails": [[after(1000), fails("auth", { message: "no key" })]],
        "lead/asks": [calls("write")],
        "lead/retries": [fails("network", { retryAfterMs: 60_000 })],
        "lead/thinks": [[says("Half."), after(60_000)]],
        "lead/sums_up": [says("long ".repeat(1000)), [says("Short"), hangs()]],
        "lead/has_background": [calls("subagent", { label: "b", task_prompt: "Go on.", background: true }), hangs()],
        "lead/has_background/b": [hangs()],
        "lead/has_nest": [inParallel([{ label: "x" }, { label: "y" }], { max_concurrent: 1 })],
        "lead/has_nest/x": [hangs()],
        "lead/done": [[after(999), says("Done.")]],
      },
      lead: { tools: [simpleTool("write", undefined, { tier: "confirm" })] },
      runtime: {
        limits: { maxConcurrent: 20 },
        maxConcurrentCalls: 20,
        approve: (_request, signal) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => {
              withdrawn += 1;
              reject(signal.reason);
            });
          }),
      },
    });
    const output = parallelOutput(stage);
    assert.deepEqual(inShort(output), [
      ["fails", false, "failed"],
      ...labels.slice(0, -1).map((label) => [label, false, "cancelled"]),
      ["done", true, "complete"],
    ]);
    assert.deepEqual([output.total_duration_ms, withdrawn], [1000, 1]);
    assert.deepEqual(output.results[3]?.output, "Half.");
    assert.match(output.results[4]?.output ?? "", /^Short$|^long /);
    assert.equal(statuses(result)["lead/has_background/b"], "cancelled");
    assert.equal(statuses(result)["lead/has_nest/x"], "cancelled");
    assert.equal("lead/has_nest/y" in statuses(result), false);
  });

  test("I3: a task that waits for its turn at the model never asks it", async () => {
    const { stage } = await runTree({
      script: {
        lead: [inParallel([{ label: "fails" }, { label: "queued" }], { fail_fast: true }), says("Seen.")],
        "lead/fails": [[after(1000), fails("auth")]],
      },
      runtime: { maxConcurrentCalls: 1 },
    });
    assert.deepEqual(inShort(parallelOutput(stage)), [
      ["fails", false, "failed"],
      ["queued", false, "cancelled"],
    ]);
    assert.deepEqual(stage.requestsOf("lead/queued"), []);
    assert.equal(parallelOutput(stage).total_duration_ms, 1000);
  });

  test("I3: the call ends when the last of the tasks has stopped, however deep and however slow", async () => {
    const order: string[] = [];
    let clock: World["clock"] | undefined;
    const { stage } = await runTree({
      script: {
        lead: [inParallel([{ label: "nest" }, { label: "fails" }], { fail_fast: true }), says("Seen.")],
        "lead/nest": [inParallel([{ label: "x" }, { label: "y" }])],
        "lead/nest/x": [calls("tidy", { milliseconds: 300 })],
        "lead/nest/y": [calls("tidy", { milliseconds: 700 })],
        "lead/fails": [[after(1000), fails("auth")]],
      },
      lead: { tools: [tidyingTool(order, () => clock)] },
      run: {
        onEvent: ({ type, path }) => {
          if (type === "run-end" || type === "tool-call-end") order.push(`${type} ${path}`);
        },
      },
      during: ({ stage: { world } }) => {
        clock = world.clock;
      },
    });
    assert.deepEqual(order, [
      "run-end lead/fails",
      "tidied in 300 ms",
      "tool-call-end lead/nest/x",
      "run-end lead/nest/x",
      "tidied in 700 ms",
      "tool-call-end lead/nest/y",
      "run-end lead/nest/y",
      "tool-call-end lead/nest",
      "run-end lead/nest",
      "tool-call-end lead",
      "run-end lead",
    ]);
    assert.equal(parallelOutput(stage).total_duration_ms, 1700);
  });
});

/** A tool that has something to put away when it is stopped; `clock` is known when the world is. */
function tidyingTool(order: string[], clock: () => World["clock"] | undefined): Tool {
  return simpleTool("tidy", (input, { signal }) => {
    const { milliseconds } = input as { milliseconds: number };
    return new Promise((_resolve, reject) => {
      const tidy = () => {
        order.push(`tidied in ${milliseconds} ms`);
        reject(signal.reason);
      };
      signal.addEventListener("abort", () => clock()?.ownTimer(milliseconds, tidy));
    });
  });
}
