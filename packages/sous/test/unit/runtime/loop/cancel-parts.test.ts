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
