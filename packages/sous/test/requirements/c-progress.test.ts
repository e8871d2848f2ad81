/** C7, C8: the progress of children, their depth and their places. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../src/core/agent.ts";
import { type SubagentProgress, trackProgress } from "../../src/subagents/progress.ts";
import { after, calls, says, uses } from "../../src/testing/steps.ts";
import { parallelOutput, runTree, statuses } from "./run-tree.ts";
import { simpleTool } from "./support.ts";

suite("C7: progress", () => {
  test("C7: every step of a child is told with all that a status line needs", async () => {
    const steps: SubagentProgress[] = [];
    const scout = agent({ name: "scout", nickname: "Eyes", maxTurns: 4, tools: [simpleTool("grep")] });
    const { stage } = await runTree({
      script: {
        lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
        "lead/scout": [
          [calls("grep", { pattern: "retry" }), uses({ input: 10, output: 5 })],
          [says("Done."), uses({ input: 20, output: 5 })],
        ],
      },
      lead: { delegate: false, subagents: [scout] },
      run: { onEvent: trackProgress((progress) => void steps.push(progress)) },
    });
    const [start] = stage.eventsOf("run-start", "lead/scout");
    const first: SubagentProgress = {
      childId: start?.agentId ?? "",
      childRunId: start?.runId ?? "",
      path: "lead/scout",
      name: "scout",
      nickname: "Eyes",
      model: "scripted/model",
      maxTurns: 4,
      currentTurn: 0,
      toolName: undefined,
      toolContext: undefined,
      toolCount: 0,
      totalTokens: 0,
      completed: false,
      success: undefined,
    };
    const second = { ...first, currentTurn: 1 };
    const third = { ...second, totalTokens: 15 };
    const fourth = { ...third, toolName: "grep", toolContext: "retry", toolCount: 1 };
    const fifth = { ...fourth, currentTurn: 2 };
    const sixth = { ...fifth, totalTokens: 40 };
    assert.deepEqual(steps, [first, second, third, fourth, fifth, sixth, { ...sixth, completed: true, success: true }]);
  });

  test("C7: a progress sink that throws, rejects or never returns does not change the run", async () => {
    const sinks = [
      () => {
        throw new Error("broken");
      },
      async () => Promise.reject(new Error("broken")),
      () => new Promise<void>(() => {}),
    ];
    for (const sink of sinks) {
      const { result } = await runTree({
        script: {
          lead: [calls("subagent", { label: "a", task_prompt: "Look." }), says("Seen.")],
          "lead/a": [says("Done.")],
        },
        run: { onEvent: trackProgress(sink) },
      });
      assert.deepEqual(statuses(result), { lead: "completed", "lead/a": "completed" });
    }
  });
});

suite("C8: depth and places", () => {
  test("C8: a tool is told its depth and the limit", async () => {
    const seen: unknown[] = [];
    const where = simpleTool("where", (_input, { depth, maxDepth, path }) => {
      seen.push([path, depth, maxDepth]);
      return "here";
    });
    await runTree({
      script: {
        lead: [calls("where"), calls("subagent", { label: "a", task_prompt: "Look." }), says("Seen.")],
        "lead/a": [calls("where"), calls("subagent", { label: "b", task_prompt: "Look closer." }), says("Done.")],
        "lead/a/b": [calls("where"), says("Done.")],
      },
      lead: { tools: [where] },
      runtime: { limits: { maxDepth: 4 } },
    });
    assert.deepEqual(seen, [
      ["lead", 0, 4],
      ["lead/a", 1, 4],
      ["lead/a/b", 2, 4],
    ]);
  });

  const wide = {
    lead: [
      calls("parallel_subagent", {
        max_concurrent: 5,
        tasks: Array.from({ length: 5 }, (_, index) => ({ label: `t${index}`, task_prompt: `Part ${index}` })),
      }),
      says("Seen."),
    ],
    "lead/*": [[after(1000), says("Done.")]],
  };

  test("C8: when full, a child waits for a place", async () => {
    const { stage, result } = await runTree({ script: wide, runtime: { limits: { maxConcurrent: 2 } } });
    assert.equal(parallelOutput(stage).successful, 5);
    assert.equal(result.durationMs, 3000);
  });

  test("C8: or is refused, if so configured, and nothing is spent on it", async () => {
    const { stage, result } = await runTree({
      script: {
        ...wide,
        lead: [...wide.lead.slice(0, 1), calls("subagent", { label: "late", task_prompt: "Again." }), says("Seen.")],
      },
      runtime: { limits: { maxConcurrent: 2, onFull: "refuse" } },
      run: { budget: { executions: 3 } },
    });
    const { results, successful, failed } = parallelOutput(stage);
    assert.deepEqual([successful, failed], [2, 3]);
    for (const { error } of results.slice(2)) assert.equal(error, "maximum concurrent subagent limit reached");
    assert.deepEqual(Object.keys(statuses(result)), ["lead", "lead/t0", "lead/t1", "lead/late"]);
  });
});
