/** I1, I2: several tasks at once: one result for each, in order, whatever happens to it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { ParallelOutput } from "../../../src/runtime/subagents/parallel.ts";
import { after, calls, fails, hangs, refuses, says } from "../../../src/testing/steps.ts";
import { inParallel, inShort, parallelOutput, runTree, startsOf } from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

suite("I1: the input of parallel_subagent", () => {
  const bad: [input: unknown, says: RegExp][] = [
    [{ tasks: [] }, /^At least one task required/],
    [{}, /^tasks is required/],
    [{ tasks: "a" }, /^At least one task required/],
    [{ tasks: [{ label: "a", task_prompt: "x" }], max_concurrent: 0 }, /^max_concurrent must be at least 1; found 0/],
    [
      { tasks: [{ label: "a", task_prompt: "x" }], max_concurrent: "2" },
      /^max_concurrent must be at least 1; found "2"/,
    ],
    [{ tasks: [{ label: "a", task_prompt: "x" }], fail_fast: "yes" }, /^fail_fast must be true or false/],
    [{ tasks: [{ label: " ", task_prompt: "x" }] }, /tasks\.0\.label cannot be empty/],
    [
      { tasks: [{ label: "a", task_prompt: "x", max_turns: 51 }] },
      /tasks\.0\.max_turns must be between 1 and 50; found 51/,
    ],
    [{ tasks: [{ label: "a", task_prompt: "x", background: true }] }, /^Unknown field in tasks\.0: background/],
    [{ tasks: [{ label: "a", task_prompt: "x" }], extra: 1 }, /^Unknown field: extra/],
    [{ tasks: [{ label: "a", task_prompt: "x" }], max_concurrent: 1.5 }, /^max_concurrent must be .*; found 1\.5$/],
    [{ tasks: null }, /^At least one task required; found null$/],
    [null, /^The input must be an object$/],
    [{ tasks: [{ label: "a", task_prompt: "x" }, "look"] }, /^tasks\.1: .*expected object.*; found "look"$/],
    [
      { tasks: [{ label: "a", task_prompt: "x", allowed_tools: [1] }] },
      /^tasks\.0\.allowed_tools\.0: .*expected string.*; found 1$/,
    ],
    [
      { tasks: [{ label: "a", task_prompt: "x" }, { label: "b" }, { label: 3, task_prompt: "" }] },
      /^tasks\.1\.task_prompt is required; tasks\.2\.label cannot be empty; found 3; tasks\.2\.task_prompt cannot be empty$/,
    ],
  ];
  for (const [input, sentence] of bad) {
    test(`I1: ${JSON.stringify(input)} is one failed result that names the field, and no child`, async () => {
      const { stage } = await runTree({ script: { lead: [calls("parallel_subagent", input), says("Oh.")] } });
      const [result] = stage.resultsOf("lead");
      assert.equal(result?.isError, true);
      assert.match(result?.output ?? "", sentence);
      assert.deepEqual(startsOf(stage), ["lead"]);
    });
  }

  test("I1: each task is as in the subagent tool, and five run at once by default", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [
          inParallel([
            { label: "a", allowed_tools: ["look"], max_turns: 3, summary_prompt: "Short." },
            ...Array.from({ length: 5 }, () => ({ label: "b" })),
          ]),
          says("Seen."),
        ],
        "lead/a": [[after(1000), calls("look")], says("Long."), says("Short.")],
        "lead/*": [[after(1000), says("Done.")]],
      },
      lead: { tools: [simpleTool("look"), simpleTool("write")] },
    });
    assert.deepEqual(stage.requestsOf("lead/a")[0]?.tools, ["look"]);
    assert.equal(stage.eventsOf("run-start", "lead/a")[0]?.maxTurns, 3);
    assert.equal(parallelOutput(stage).results[0]?.output, "Short.");
    assert.equal(result.durationMs, 2000);
  });

  test("I1: max_concurrent is kept, here and in the whole tree", async () => {
    for (const [local, whole, duration] of [
      [2, 5, 3000],
      [6, 3, 2000],
      [6, 6, 1000],
    ] as const) {
      const { result } = await runTree({
        script: {
          lead: [
            inParallel(
              Array.from({ length: 6 }, () => ({ label: "a" })),
              { max_concurrent: local },
            ),
            says("Seen."),
          ],
          "lead/*": [[after(1000), says("Done.")]],
        },
        runtime: { limits: { maxConcurrent: whole } },
      });
      assert.equal(result.durationMs, duration);
    }
  });
});

suite("I2: the output", () => {
  test("I2: results are in input order, with times, figures and counts", async () => {
    const { stage } = await runTree({
      script: {
        lead: [inParallel([{ label: "slow" }, { label: "quick" }, { label: "slow" }]), says("Seen.")],
        "lead/slow": [[after(3000), says("Slow.")]],
        "lead/slow#2": [[after(2000), fails("invalid_request", { message: "no" })]],
        "lead/quick": [[after(1000), says("Quick.")]],
      },
    });
    const { results, ...counts } = parallelOutput(stage);
    assert.deepEqual(counts, { total_duration_ms: 3000, successful: 2, failed: 1 });
    assert.deepEqual(
      results.map(({ label, success, output, duration_ms, error }) => ({ label, success, output, duration_ms, error })),
      [
        { label: "slow", success: true, output: "Slow.", duration_ms: 3000, error: undefined },
        { label: "quick", success: true, output: "Quick.", duration_ms: 1000, error: undefined },
        { label: "slow", success: false, output: "", duration_ms: 2000, error: "Subagent failed: no" },
      ],
    );
    const [first] = results;
    const [{ agentId = "" } = {}] = stage.eventsOf("run-start", "lead/slow");
    const { prompt_tokens = 0, completion_tokens = 0, ...figures } = first ?? {};
    assert.equal(first?.tokens_consumed, prompt_tokens + completion_tokens);
    assert.deepEqual(figures, {
      label: "slow",
      success: true,
      output: "Slow.",
      subagent_id: agentId,
      subagent_label: "slow",
      recursion_depth: 1,
      turns_used: 1,
      tool_count: 0,
      tokens_consumed: first?.tokens_consumed,
      tree_tokens: first?.tokens_consumed,
      completion_status: "complete",
      max_turns_reached: false,
      truncated: false,
      duration_ms: 3000,
    });
  });

  test("I2: a task that crashes, hangs, is refused, is cancelled or never starts is in the results", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [
          inParallel([
            { label: "crashes" },
            { label: "hangs", timeout_ms: 500 },
            { label: "refuses" },
            { label: "cancelled" },
            { label: "unknown", agent: "nobody" },
            { label: "forbidden", allowed_tools: ["no_such"] },
            { label: "works" },
            { label: "unpaid" },
          ]),
          says("Seen."),
        ],
        "lead/crashes": [fails(new TypeError("boom"))],
        "lead/hangs": [hangs()],
        "lead/refuses": [[says("No."), refuses()]],
        "lead/cancelled": [hangs()],
        "lead/works": [says("Done.")],
      },
      run: { budget: { executions: 5 } },
      during: ({ handle, at }) => at(1000, () => handle.cancel("lead/cancelled")),
    });
    const output = parallelOutput(stage);
    assert.deepEqual(
      output.results.map(({ label, success, completion_status, error }) => [label, success, completion_status, error]),
      [
        ["crashes", false, "failed", "Subagent failed: The model failed: boom"],
        ["hangs", false, "timeout", "Subagent timed out after 500 ms (hangs)"],
        ["refuses", false, "refused", "The subagent's model refused the task"],
        ["cancelled", false, "cancelled", "Subagent cancelled (cancelled)"],
        ["unknown", false, undefined, "Unknown agent: nobody. No agents are defined."],
        ["forbidden", false, undefined, "Unknown tool in allowed_tools: no_such. You have no tools to pass on."],
        ["works", true, "complete", undefined],
        ["unpaid", false, undefined, "Execution limit reached: 5/5"],
      ],
    );
    assert.deepEqual([output.successful, output.failed], [1, 7]);
    assert.equal(stage.resultsOf("lead")[0]?.isError, false);
    assert.equal(result.status, "completed");
  });

  test("I2: a task that is done stays done when the one that waits for it is stopped", async () => {
    const { stage } = await runTree({
      script: {
        lead: [inParallel([{ label: "nest" }, { label: "b" }, { label: "c" }], { max_concurrent: 2 }), says("Seen.")],
        "lead/nest": [inParallel([{ label: "x" }])],
        "lead/nest/x": [[after(1000), says("Done.")]],
        "lead/b": [[after(1000), says("Done.")]],
        "lead/c": [[after(9000), says("Done.")]],
      },
      runtime: { limits: { maxConcurrent: 1 } },
      // At 2 s x has ended, c has the only place, and nest waits to go on.
      during: ({ handle, at }) => at(5000, () => handle.cancel("lead/nest")),
    });
    assert.equal(stage.eventsOf("run-end", "lead/nest/x")[0]?.time, stage.eventsOf("run-start", "lead/c")[0]?.time);
    assert.deepEqual(inShort(parallelOutput(stage, "lead/nest")), [["x", true, "complete"]]);
    assert.deepEqual(inShort(parallelOutput(stage)), [
      ["nest", false, "cancelled"],
      ["b", true, "complete"],
      ["c", true, "complete"],
    ]);
  });

  test("I2: the size limit holds for each output, and the call keeps all of them", async () => {
    const { stage } = await runTree({
      script: {
        lead: [inParallel([{ label: "a" }, { label: "b" }]), says("Seen.")],
        "lead/*": [says("é".repeat(3000))],
      },
      runtime: { limits: { outputMaxSize: 1024, summary: "never" } },
    });
    for (const { output, truncated } of parallelOutput(stage).results) {
      assert.equal(truncated, true);
      assert.match(
        output,
        /^é{512}\n\[Notice: cut after 1024 of 6000 bytes; subagent_report reads the rest from offset 1024\]$/,
      );
    }
  });

  test("I2: outputs that are too long together each keep an equal share, and code keeps all of them", async () => {
    const labels = Array.from({ length: 40 }, (_, index) => `t${index}`);
    const { stage, returned } = await runTree({
      script: {
        lead: [inParallel(labels.map((label) => ({ label }))), says("Seen.")],
        "lead/*": [says("\n\u0001é".repeat(1000))],
        "lead/t0": [says("Short.")],
      },
      lead: { tools: [] },
    });
    const { results, successful, failed } = parallelOutput(stage);
    assert.deepEqual([results.map(({ label }) => label), successful, failed], [labels, 40, 0]);
    assert.deepEqual([results[0]?.output, results[0]?.truncated], ["Short.", false]);
    for (const { output, truncated, subagent_id } of results.slice(1)) {
      const [, kept = "0"] = output.match(/\n\[Notice: cut after (\d+) of 4000 bytes; .* from offset \1\]$/) ?? [];
      assert.ok(Number(kept) > 500 && Number(kept) < 4000, output.slice(-200));
      assert.deepEqual([truncated, typeof subagent_id], [true, "string"]);
    }
    const whole = returned[0]?.result.data as ParallelOutput;
    assert.deepEqual(
      whole.results.slice(1).map(({ output }) => output.length),
      labels.slice(1).map(() => 3000),
    );
  });

  test("I2: a fan-out may have a thousand children", async () => {
    const { stage, result, returned } = await runTree({
      script: {
        lead: [
          inParallel(
            Array.from({ length: 1000 }, (_, index) => ({ label: `t${index % 10}` })),
            { max_concurrent: 1000, fail_fast: true },
          ),
          says("Seen."),
        ],
        "lead/*": [[after(1000), says("Done.")]],
      },
      runtime: { limits: { maxConcurrent: 1000 }, maxConcurrentCalls: 1000 },
    });
    const { results, successful, failed, total_duration_ms } = returned[0]?.result.data as ParallelOutput;
    assert.deepEqual([results.length, successful, failed, total_duration_ms], [1000, 1000, 0, 1000]);
    assert.equal(new Set(startsOf(stage)).size, 1001);
    assert.equal(result.agents.length, 1001);
  });
});
