/** C7, C8: the progress of children, their depth and their slots. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { type SubagentProgress, trackProgress } from "../../../src/runtime/subagents/progress.ts";
import { after, calls, says, uses } from "../../../src/testing/steps.ts";
import { parallelOutput, runTree, statuses } from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

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
      step: "run-start",
      toolCallId: undefined,
      toolName: undefined,
      toolContext: undefined,
      toolSuccess: undefined,
      toolCount: 0,
      totalTokens: 0,
      completed: false,
      success: undefined,
    };
    const callId = stage.eventsOf("tool-call-start", "lead/scout")[0]?.callId ?? "";
    const second: SubagentProgress = { ...first, step: "turn-start", currentTurn: 1 };
    const third: SubagentProgress = { ...second, step: "message-end", totalTokens: 15 };
    const tool = { toolCallId: callId, toolName: "grep", toolContext: "retry", toolCount: 1 };
    const fourth: SubagentProgress = { ...third, step: "tool-start", ...tool };
    const fifth: SubagentProgress = { ...fourth, step: "tool-end", toolSuccess: true };
    const sixth: SubagentProgress = { ...fifth, step: "turn-start", currentTurn: 2 };
    const seventh: SubagentProgress = { ...sixth, step: "message-end", totalTokens: 40 };
    const last: SubagentProgress = { ...seventh, step: "run-end", completed: true, success: true };
    assert.deepEqual(steps, [first, second, third, fourth, fifth, sixth, seventh, last]);
  });

  test("C7: every tool of a child has a start and an end with its own success, also when several run at once", async () => {
    const steps: SubagentProgress[] = [];
    const slow = simpleTool("slow", (_input, { signal }) => untilAborted(signal));
    const broken = simpleTool("broken", () => assert.fail("out of order"));
    const { stage } = await runTree({
      script: {
        lead: [calls("subagent", { label: "a", task_prompt: "Look.", timeout_ms: 500 }), says("Seen.")],
        "lead/a": [
          [calls("grep", { pattern: "x" }), calls("broken"), calls("no_such_tool")],
          [calls("slow", { path: "y" })],
          says("Never said."),
        ],
      },
      lead: { tools: [simpleTool("grep"), broken, slow] },
      run: { onEvent: trackProgress((progress) => void steps.push(progress)) },
    });
    const told = steps
      .filter(({ step }) => step === "tool-start" || step === "tool-end")
      .map(({ step, toolName, toolContext, toolSuccess }) => [step, toolName, toolContext, toolSuccess]);
    assert.deepEqual(told.sort(), [
      ["tool-end", "broken", "", false],
      ["tool-end", "grep", "x", true],
      ["tool-end", "no_such_tool", "", false],
      ["tool-end", "slow", "y", false],
      ["tool-start", "broken", "", undefined],
      ["tool-start", "grep", "x", undefined],
      ["tool-start", "no_such_tool", "", undefined],
      ["tool-start", "slow", "y", undefined],
    ]);
    const ids = (step: SubagentProgress["step"]) =>
      steps.filter((progress) => progress.step === step).map(({ toolCallId }) => toolCallId);
    const started = stage.eventsOf("tool-call-start", "lead/a").map(({ callId }) => callId);
    assert.deepEqual([ids("tool-start"), ids("tool-end").sort()], [started, [...started].sort()]);
    assert.deepEqual([steps.at(-1)?.step, steps.at(-1)?.success], ["run-end", false]);
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

suite("C8: depth and slots", () => {
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

  test("C8: a child waits for a slot when the tree is full", async () => {
    const { stage, result } = await runTree({ script: wide, runtime: { limits: { maxConcurrent: 2 } } });
    assert.equal(parallelOutput(stage).successful, 5);
    assert.equal(result.durationMs, 3000);
  });

  test("C8: a child is refused when the tree is full, if so configured, and nothing is spent on it", async () => {
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
    for (const { label, error } of results.slice(2))
      assert.equal(
        error,
        `maximum concurrent subagent limit reached, so lead/${label} did not start. Try again when another subagent completes.`,
      );
    assert.deepEqual(Object.keys(statuses(result)), ["lead", "lead/t0", "lead/t1", "lead/late"]);
  });
});

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
