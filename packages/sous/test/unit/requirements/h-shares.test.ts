/** H1: a child may be given less than what is left, never more. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { after, calls, says, uses } from "../../../src/testing/steps.ts";
import { parallelOutput, readBy, runTree, startsOf, statuses } from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

/** A task for `label` with words of its own. */
function _child(label: string, more: Record<string, unknown> = {}) {
  return calls("subagent", { label, task_prompt: `Do ${label}.`, ...more });
}

function inParallel(labels: readonly string[], options: Record<string, unknown> = {}) {
  return calls("parallel_subagent", {
    tasks: labels.map((label) => ({ label, task_prompt: `Do ${label}.` })),
    ...options,
  });
}

const _NEVER = { limits: { summary: "never" } } as const;

suite("H1: a share for a child", () => {
  test("H1: a child may be given less, and is held to it", async () => {
    const { result, stage } = await runTree({
      script: {
        lead: [calls("subagent_head", { task: "Think." }), says("Seen.")],
        "lead/head": [[says("First."), calls("look"), uses({ input: 1000, output: 500 })]],
      },
      lead: {
        delegate: false,
        subagents: [agent({ name: "head", budget: { tokens: 2000 }, tools: [simpleTool("look")] })],
      },
      run: { budget: { tokens: 100_000 }, onExhausted: "stop" },
    });
    assert.deepEqual(statuses(result), { lead: "completed", "lead/head": "budget_exceeded" });
    assert.match(
      stage.eventsOf("run-end", "lead/head")[0]?.fault?.message ?? "",
      /^Token limit exceeded: \d+\/2000 \(spent /,
    );
  });

  const greedy: [budget: Record<string, number>, sentence: RegExp][] = [
    [{ tokens: 200_000 }, /^Token limit exceeded: \d+\/100000 \(spent /],
    [{ costUsd: 3 }, /^Cost limit exceeded: \$3\.\d{4}\/\$2\.0000 \(spent /],
    [{ executions: 9 }, /^Execution limit reached: 9\/4$/],
    [{ durationMs: 120_000 }, /^Time limit exceeded: 120s\/60s$/],
  ];
  for (const [budget, sentence] of greedy) {
    test(`H1: a child that asks for ${JSON.stringify(budget)} of less is refused before any model call`, async () => {
      const { stage } = await runTree({
        script: { lead: [calls("subagent_head", { task: "Think." }), says("Oh.")] },
        lead: { delegate: false, subagents: [agent({ name: "head", budget })] },
        run: { budget: { tokens: 100_000, costUsd: 2, executions: 4, durationMs: 60_000 } },
        model: { price: { input: 1, output: 1 } },
      });
      assert.match(readBy(stage, "subagent_head")[0] ?? "", sentence);
      assert.deepEqual(startsOf(stage), ["lead"]);
      assert.equal(stage.eventsOf("spawn-refused")[0]?.errorType, "quota");
    });
  }

  test("B1.4: a grandchild is measured by what its parent has left, not by what the root has", async () => {
    const asking = (budget: Record<string, number>, name: string) => agent({ name, budget });
    const { stage } = await runTree({
      script: {
        lead: [calls("subagent_head", { task: "Share." }), says("Seen.")],
        "lead/head": [
          [after(10_000), calls("subagent_small", { task: "One." }), uses({ input: 1000, output: 100 })],
          [
            calls("subagent_tokens", { task: "Two." }),
            calls("subagent_executions", { task: "Three." }),
            calls("subagent_seconds", { task: "Four." }),
            uses({ input: 1000, output: 100 }),
          ],
          says("Shared."),
        ],
        "lead/head/small": [says("Done.")],
      },
      lead: {
        delegate: false,
        subagents: [
          agent({
            name: "head",
            budget: { tokens: 20_000, executions: 2, durationMs: 30_000 },
            subagents: [
              asking({ tokens: 1000, executions: 0, durationMs: 5_000 }, "small"),
              asking({ tokens: 19_000 }, "tokens"),
              asking({ executions: 2 }, "executions"),
              asking({ durationMs: 25_000 }, "seconds"),
            ],
          }),
        ],
      },
      run: { budget: { tokens: 900_000, executions: 90, durationMs: 900_000 } },
    });
    const read = ["tokens", "executions", "seconds"].map((name) => readBy(stage, `subagent_${name}`, "lead/head")[0]);
    assert.match(read[0] ?? "", /^Token limit exceeded: \d+\/20000 \(spent /);
    assert.deepEqual(read.slice(1), ["Execution limit reached: 3/2", "Time limit exceeded: 25s/20s"]);
    assert.deepEqual(startsOf(stage), ["lead", "lead/head", "lead/head/small"]);
  });

  test("H1: a budget in the call narrows that of the definition and never widens it", async () => {
    const spawning = simpleTool("spawning", async (_input, { spawn }) => {
      const reply = await spawn({
        label: "head",
        task: "Think.",
        agent: agent({ name: "head", budget: { executions: 1 }, delegate: true }),
        options: { budget: { executions: 3 } },
      });
      return reply.kind;
    });
    const { stage } = await runTree({
      script: {
        lead: [calls("spawning"), says("Seen.")],
        "lead/head": [inParallel(["a", "b"]), says("Done.")],
        "lead/head/*": [says("Done.")],
      },
      lead: { tools: [spawning] },
    });
    assert.equal(parallelOutput(stage, "lead/head").results[1]?.error, "Execution limit reached: 1/1");
  });
});
