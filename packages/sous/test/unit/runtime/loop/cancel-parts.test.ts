/** Stopping a part of a tree, letting it say what it has, and deadlines. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { SousEvent } from "../../../../src/core/event.ts";
import { after, calls, fails, hangs, says, streams } from "../../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../../support/requirements/support.ts";

const child = { label: "x", task_prompt: "Look." };
const isTurnOf = (path: string) => (event: SousEvent) => event.type === "turn-start" && event.path === path;

suite("cancelling one child", () => {
  const two = {
    tasks: [
      { ...child, label: "a" },
      { ...child, label: "b" },
    ],
  };

  test("cancelling one child leaves its sibling and its parent alone", async () => {
    const stage = openStage({
      lead: [calls("parallel_subagent", two), says("One of two.")],
      "lead/a": [[streams("So far "), hangs()]],
      "lead/b": [[after(10_000), says("All of it.")]],
    });
    const handle = stage.start(stage.lead());
    stage.when(
      (event) => event.type === "text-delta",
      () => assert.equal(handle.cancel("lead/a"), true),
    );
    const result = await stage.end(handle);
    assert.deepEqual([result.status, result.text], ["completed", "One of two."]);
    const output = JSON.parse(stage.resultsOf("lead")[0]?.output ?? "");
    assert.deepEqual(
      output.results.map(({ label, success, output: text, error }: Record<string, unknown>) => [
        label,
        success,
        text,
        error,
      ]),
      [
        ["a", false, "So far ", "Subagent cancelled (a)"],
        ["b", true, "All of it.", undefined],
      ],
    );
  });

  test("a child that is cancelled while it waits for a place never was", async () => {
    const stage = openStage(
      {
        lead: [calls("parallel_subagent", { ...two, max_concurrent: 2 }), says("One of two.")],
        "lead/a": [[after(1_000), says("Done.")]],
        "lead/b": [says("Never.")],
      },
      { runtime: { limits: { maxConcurrent: 1 } } },
    );
    const handle = stage.start(stage.lead());
    let isCancelled: boolean | undefined;
    stage.world.clock.ownTimer(500, () => {
      isCancelled = handle.cancel("lead/b");
    });
    await stage.end(handle);
    const output = JSON.parse(stage.resultsOf("lead")[0]?.output ?? "");
    assert.deepEqual(
      output.results.map(({ label, success, error }: Record<string, unknown>) => [label, success, error]),
      [
        ["a", true, undefined],
        ["b", false, "Subagent cancelled before it started"],
      ],
    );
    assert.equal(isCancelled, true);
    assert.equal(stage.eventsOf("run-start", "lead/b").length, 0);
  });

  test("cancelling an unknown path does nothing and says so", async () => {
    const stage = openStage({ lead: [says("Done.")] });
    const handle = stage.start(stage.lead());
    let answer: boolean | undefined;
    stage.when(isTurnOf("lead"), () => {
      answer = handle.cancel("lead/nobody");
    });
    assert.equal((await stage.end(handle)).status, "completed");
    assert.equal(answer, false);
  });
});

suite("wrapping up", () => {
  test("wrapping up lets a child say what it has in one turn without tools", async () => {
    const stage = openStage({
      lead: [calls("subagent", child), says("Good enough.")],
      "lead/x": [
        [says("Reading."), calls("look")],
        [says("I read half of it."), calls("look")],
      ],
    });
    let looked = 0;
    const look = simpleTool("look", () => {
      looked += 1;
      assert.equal(handle.cancel("lead/x", { mode: "wrap-up" }), true);
      return "a page";
    });
    const handle = stage.start(stage.lead({ tools: [look] }));
    const result = await stage.end(handle);
    assert.equal(result.text, "Good enough.");
    assert.equal(looked, 1, "what the model asked for in its last turn is not run");
    const last = stage.requestsOf("lead/x").at(-1);
    assert.deepEqual([last?.mayCallTools, last?.messages.at(-1)?.role], [false, "user"]);
    assert.match(
      stage.resultsOf("lead")[0]?.output ?? "",
      /^Subagent cancelled after wrapping up \(x\)\nPartial result:\nI read half of it\.\n/,
    );
  });

  test("a wrap-up of the whole tree reaches every run below", async () => {
    const stage = openStage({
      lead: [calls("subagent", child), says("What the child found.")],
      "lead/x": [calls("look"), says("Half.")],
    });
    const look = simpleTool("look", () => void handle.cancel(undefined, { mode: "wrap-up" }));
    const handle = stage.start(stage.lead({ tools: [look] }));
    const result = await stage.end(handle);
    assert.deepEqual([result.status, result.text], ["cancelled", "What the child found."]);
    assert.deepEqual(
      stage.eventsOf("run-end").map(({ path, status, text }) => [path, status, text]),
      [
        ["lead/x", "cancelled", "Half."],
        ["lead", "cancelled", "What the child found."],
      ],
    );
  });

  test("wrapping up keeps what was said when the last turn fails", async () => {
    const stage = openStage({
      lead: [
        [says("So far so good."), calls("look")],
        [streams("I w"), fails("invalid_request")],
      ],
    });
    const look = simpleTool("look", () => void handle.cancel(undefined, { mode: "wrap-up" }));
    const handle = stage.start(stage.lead({ tools: [look] }));
    const result = await stage.end(handle);
    assert.deepEqual([result.status, result.text], ["cancelled", "So far so good."]);
  });
});

suite("a deadline", () => {
  test("a deadline of a child is its timeout, and a cancel for those below it", async () => {
    const stage = openStage({
      lead: [calls("subagent", { ...child, timeout_ms: 5_000 }), says("Too slow.")],
      "lead/x": [calls("subagent", { label: "y", task_prompt: "Deeper." })],
      "lead/x/y": [hangs()],
    });
    const result = await stage.run(stage.lead());
    assert.deepEqual([result.status, result.text], ["completed", "Too slow."]);
    assert.match(stage.resultsOf("lead")[0]?.output ?? "", /^Subagent timed out after 5000 ms \(x\)\n/);
    assert.deepEqual(
      stage.eventsOf("run-end").map(({ path, status }) => [path, status]),
      [
        ["lead/x/y", "cancelled"],
        ["lead/x", "timeout"],
        ["lead", "completed"],
      ],
    );
    assert.equal(stage.world.clock.monotonic(), 5_000);
  });

  test("a deadline of the root ends everything as a timeout with the numbers", async () => {
    const stage = openStage({ lead: [[streams("So far"), hangs()]] });
    const result = await stage.run(stage.lead(), "The task.", { budget: { durationMs: 60_000 } });
    assert.deepEqual(
      [result.status, result.text, result.error],
      ["timeout", "So far", { type: "timeout", message: "Time limit exceeded: 60s/60s" }],
    );
  });
});
