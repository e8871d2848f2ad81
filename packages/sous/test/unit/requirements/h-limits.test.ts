/** H1, H2: money, time, limits for children alone, and what happens when something runs out. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { after, calls, hangs, says, streams, uses } from "../../../src/testing/steps.ts";
import { parallelOutput, readBy, runTree, startsOf, statuses } from "../../support/requirements/run-tree.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";
import { rerunBothWays } from "../../support/rerun/support.ts";

function child(label: string, more: Record<string, unknown> = {}) {
  return calls("subagent", { label, task_prompt: `Do ${label}.`, ...more });
}

const PRICE = { input: 10, output: 100 };

suite("H1: cost", () => {
  test("H1: money is counted from the price and held to the limit", async () => {
    const { result } = await runTree({
      script: {
        lead: [
          [says("First."), calls("look"), uses({ input: 10_000, output: 1000 })],
          [says("Last words."), uses({ input: 10_000, output: 10 })],
        ],
      },
      lead: { delegate: false, tools: [simpleTool("look")] },
      run: { budget: { costUsd: 0.35 } },
      model: { price: PRICE },
    });
    assert.equal(result.status, "budget_exceeded");
    assert.match(result.error?.message ?? "", /^Cost limit exceeded: \$0\.\d{4}\/\$0\.3500 \(spent \$0\.2000, /);
    assert.ok((result.costUsd ?? 1) <= 0.35, `${result.costUsd}`);
    assert.equal(result.text, "Last words.");
  });

  test("H1: an unknown price is shown as unknown, and is refused where money is limited", async () => {
    const plan = {
      script: { lead: [[says("Done."), uses({ input: 1000, output: 100 })]] },
      lead: { delegate: false },
    };
    const { result } = await runTree({ ...plan, run: { budget: { tokens: 100_000 } } });
    assert.deepEqual([result.status, result.costUsd], ["completed", null]);
    await assert.rejects(runTree({ ...plan, run: { budget: { costUsd: 100 } } }), {
      name: "UnpricedModel",
      message:
        "The model scripted/model has no price, and this run has a limit in USD: name another model, or set prices.scripted/model in the configuration (models.prices in code)",
    });
  });

  test("H1: a price that the runtime is given counts, also one of 0", async () => {
    const script = { lead: [[says("Done."), uses({ input: 1000, output: 100 })]] };
    for (const [price, cost] of [
      [{ input: 10, output: 100 }, 0.02],
      [{ input: 0, output: 0 }, 0],
    ] as const) {
      const runtime = { models: { prices: { "scripted/model": price } } };
      const { result } = await runTree({ script, lead: { delegate: false }, runtime, run: { budget: { costUsd: 1 } } });
      assert.deepEqual([result.status, result.costUsd], ["completed", cost]);
    }
  });
});

suite("H1: time", () => {
  test("H1: seconds are the deadline of the root, and stop everything", async () => {
    const { result } = await runTree({
      script: { lead: [child("a"), says("Unreached.")], "lead/a": [[streams("Half."), hangs()]] },
      run: { budget: { durationMs: 60_000 } },
    });
    assert.deepEqual(
      [result.status, result.error?.message, result.durationMs],
      ["timeout", "Time limit exceeded: 60s/60s", 60_000],
    );
    assert.deepEqual(statuses(result), { lead: "timeout", "lead/a": "cancelled" });
  });

  test("H1: a jump of the wall clock changes no deadline", async () => {
    const { result } = await runTree({
      script: { lead: [[after(30_000), says("Done.")]] },
      run: { budget: { durationMs: 60_000 } },
      during: ({ stage, at }) => at(1000, () => stage.world.clock.jump(86_400_000)),
    });
    assert.deepEqual([result.status, result.durationMs], ["completed", 30_000]);
  });

  test("H1: a child has its own share of the seconds, over all its runs", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [
          calls("subagent_slow", { task: "Wait." }),
          ({ messages }) => {
            const id = /subagent_id: (\w+)/.exec(JSON.stringify(messages))?.[1];
            return calls("subagent_send", { subagent_id: id, message: "And again." });
          },
          says("Seen."),
        ],
        "lead/slow": [
          [after(7000), says("Once.")],
          [after(7000), says("Twice.")],
        ],
      },
      lead: { subagents: [agent({ name: "slow", budget: { durationMs: 10_000 } })] },
      run: { budget: { durationMs: 60_000 } },
    });
    const ends = stage.eventsOf("run-end", "lead/slow");
    assert.deepEqual(
      ends.map(({ status, durationMs, fault }) => [status, durationMs, fault?.message]),
      [
        ["completed", 7000, undefined],
        ["timeout", 3000, "Time limit exceeded: 10s/10s"],
      ],
    );
    assert.deepEqual([result.status, result.durationMs], ["completed", 10_000]);
  });
});

suite("H1: limits for children alone", () => {
  test("H1: limits for children alone hold for executions, tokens and money of all of them, the root not counted", async () => {
    const costly = [says("Done."), uses({ input: 3000, output: 100 })];
    for (const [children, sentence] of [
      [{ executions: 1 }, /^Execution limit reached: 1\/1$/],
      [{ tokens: 3500 }, /^Token limit exceeded: \d+\/3500 \(spent 3100, /],
      [{ costUsd: 0.09 }, /^Cost limit exceeded: \$0\.\d{4}\/\$0\.0900 \(spent \$0.0400, /],
    ] as const) {
      const { stage, result } = await runTree({
        script: {
          lead: [
            [says("I begin."), child("a", { allowed_tools: [] }), uses({ input: 9000, output: 900 })],
            [child("b", { allowed_tools: [] }), uses({ input: 9000, output: 900 })],
            [says("Seen."), uses({ input: 9000, output: 900 })],
          ],
          "lead/a": [costly],
          "lead/b": [costly],
        },
        lead: { maxOutputTokens: 900 },
        runtime: { limits: { children, summary: "never" } },
        model: { price: PRICE },
      });
      const [first = "", second = ""] = readBy(stage, "subagent");
      assert.match(first, /^Done\./);
      assert.match(second.split("\n")[0] ?? "", sentence);
      assert.deepEqual([result.status, result.text], ["completed", "Seen."]);
    }
  });

  test("H1: the time of children counts while one of them runs", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [[after(50_000), child("a")], [after(50_000), child("b")], child("c"), says("Seen.")],
        "lead/a": [[after(40_000), says("Done.")]],
        "lead/b": [[after(19_000), streams("Half."), hangs()]],
      },
      runtime: { limits: { children: { durationMs: 60_000 } } },
    });
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a": "completed", "lead/b": "budget_exceeded" });
    const [, second, third] = readBy(stage, "subagent");
    assert.match(second ?? "", /^Time limit exceeded: 60s\/60s\nPartial result:\nHalf\./);
    assert.equal(third, "Time limit exceeded: 60s/60s");
    assert.equal(result.durationMs, 160_000);
  });

  test("H1: a child that waited for a slot until the time of children was up does not start", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [[child("a"), child("b")], says("Seen.")],
        "lead/a": [[after(50_000), streams("Half."), hangs()]],
        "lead/b": [says("Never.")],
      },
      runtime: { limits: { maxConcurrent: 1, children: { durationMs: 60_000, executions: 5 } } },
    });
    assert.deepEqual(
      [startsOf(stage), statuses(result)],
      [["lead", "lead/a"], { lead: "completed", "lead/a": "budget_exceeded" }],
    );
    assert.deepEqual(
      readBy(stage, "subagent").map((text) => text.split("\n").slice(0, 3)),
      [["Time limit exceeded: 60s/60s", "Partial result:", "Half."], ["Time limit exceeded: 60s/60s"]],
    );
    assert.deepEqual(
      stage.eventsOf("spawn-refused").map(({ label }) => label),
      ["b"],
    );
  });

  test("H1: a limit for children above the whole budget is no error: the budget rules", async () => {
    const { stage, result } = await runTree({
      script: { lead: [child("a"), child("b"), says("Seen.")], "lead/*": [says("Done.")] },
      runtime: { limits: { children: { tokens: 900_000, executions: 50, durationMs: 600_000 } } },
      run: { budget: { tokens: 90_000, executions: 1, durationMs: 60_000 } },
    });
    assert.deepEqual(startsOf(stage), ["lead", "lead/a"]);
    assert.equal(result.status, "completed");
  });
});

suite("H2: when the budget is spent", () => {
  const script = {
    lead: [
      [says("I found A."), calls("look"), uses({ input: 1000, output: 200 })],
      [says("Last words: A."), uses({ input: 1300, output: 20 })],
    ],
  };
  const lead = { delegate: false, tools: [simpleTool("look")] };

  test("H2: wrap-up, the default, asks for last words without tools and keeps them", async () => {
    const { result, stage } = await runTree({ script, lead, run: { budget: { tokens: 4000 } } });
    assert.deepEqual([result.status, result.text], ["budget_exceeded", "Last words: A."]);
    const last = stage.requestsOf("lead").at(-1);
    assert.equal(last?.mayCallTools, false);
    assert.match(JSON.stringify(last?.messages.at(-1)), /You must stop now/);
    assert.match(stage.eventsOf("budget-warning")[0]?.message ?? "", /^Token limit exceeded: \d+\/4000 \(spent /);
    assert.ok(result.usage.totalTokens <= 4000);
  });

  test("H2: stop ends at once and keeps what was said", async () => {
    const { result, stage } = await runTree({ script, lead, run: { budget: { tokens: 2900 }, onExhausted: "stop" } });
    assert.deepEqual([result.status, result.text], ["budget_exceeded", "I found A."]);
    assert.equal(stage.model.requestCount, 1);
  });

  test("H2: results that are too long for what was kept are left out of the last words", async () => {
    const long = simpleTool("look", () => "x".repeat(9_000));
    const { result, stage } = await runTree({
      script: {
        lead: [
          [says("I begin."), calls("look"), uses({ input: 500, output: 50 })],
          [says("I found A."), calls("look"), uses({ input: 4_000, output: 50 })],
          [says("Last words: A."), uses({ input: 4_100, output: 20 })],
        ],
      },
      lead: { delegate: false, tools: [long] },
      run: { budget: { tokens: 10_000 } },
    });
    assert.deepEqual([result.status, result.text], ["budget_exceeded", "Last words: A."]);
    assert.ok(result.usage.totalTokens <= 10_000, `${result.usage.totalTokens}`);
    const [pruned] = stage.eventsOf("prune");
    assert.deepEqual([pruned?.from, pruned?.dropped], [3, 2]);
    const last = stage.requestsOf("lead").at(-1);
    assert.deepEqual(
      last?.messages.map(({ role }) => role),
      ["user", "assistant", "tool", "user"],
    );
    await rerunBothWays(stage, result.runId, [stage.lead({ delegate: false, tools: [long] })]);
  });

  test("H2: a tool call in the last words is not run", async () => {
    const looked: unknown[] = [];
    const look = simpleTool("look", (input) => looked.push(input));
    const { result } = await runTree({
      script: { lead: [script.lead[0] ?? [], [says("One more."), calls("look"), uses({ input: 1300, output: 20 })]] },
      lead: { delegate: false, tools: [look] },
      run: { budget: { tokens: 4000 } },
    });
    assert.deepEqual([result.status, result.text, looked.length], ["budget_exceeded", "One more.", 1]);
  });

  test("H2: a budget too small for a first call ends the run before any", async () => {
    const { result, stage } = await runTree({ script, lead, run: { budget: { tokens: 100 } } });
    assert.equal(result.status, "budget_exceeded");
    assert.match(result.error?.message ?? "", /^Token limit exceeded: \d+\/100 \(spent /);
    assert.equal(stage.model.requestCount, 0);
  });

  test("H2, B2.5: a parent reads that a capped child is not complete, and what it has is called partial", async () => {
    const { stage } = await runTree({
      script: {
        lead: [
          calls("parallel_subagent", { tasks: [{ label: "a", task_prompt: "Do a.", agent: "head" }] }),
          child("b", { agent: "head" }),
          says("Seen."),
        ],
        "lead/*": script.lead,
      },
      lead: { subagents: [agent({ name: "head", ...lead, budget: { tokens: 4000 } })] },
    });
    const [result] = parallelOutput(stage).results;
    assert.deepEqual([result?.success, result?.completion_status], [false, "budget_exceeded"]);
    assert.match(
      readBy(stage, "subagent")[0] ?? "",
      /^Token limit exceeded: \d+\/4000 \(spent 1200, [^\n]+\)\nPartial result:\nLast words: A\.\n/,
    );
  });
});

suite("H1: over follow-ups", () => {
  test("H1: a continued root has what is left of its budget, and its result has the figures of the whole tree", async () => {
    const stage = openStage(
      {
        lead: [
          [child("a"), uses({ input: 100, output: 10 })],
          [calls("write"), uses({ input: 100, output: 10 })],
          [says("Once."), uses({ input: 100, output: 10 })],
          [child("b"), uses({ input: 100, output: 10 })],
          [says("Twice."), uses({ input: 100, output: 10 })],
        ],
        "lead/a": [[says("Done."), uses({ input: 50, output: 5 })]],
      },
      { model: { price: PRICE } },
    );
    const lead = stage.lead({ tools: [simpleTool("write", undefined, { tier: "confirm" })] });
    const handle = stage.start(lead, "Go.", { budget: { executions: 1 } });
    const first = await stage.end(handle);
    const second = await stage.end(handle.followUp("Go on."));
    assert.equal(readBy(stage, "subagent")[1], "Execution limit reached: 1/1");
    assert.deepEqual([first.usage.totalTokens, second.usage.totalTokens], [385, 605]);
    for (const { usage, costUsd, agents } of [first, second]) {
      assert.equal(
        agents.reduce((sum, each) => sum + each.usage.totalTokens, 0),
        usage.totalTokens,
      );
      assert.equal(costUsd?.toFixed(6), ((usage.inputTokens * 10 + usage.outputTokens * 100) / 1e6).toFixed(6));
    }
    // What nobody could allow was this run's affair, not the next one's.
    assert.deepEqual([first.status, first.denied.length], ["incomplete", 1]);
    assert.deepEqual([second.status, second.denied], ["completed", []]);
  });
});
