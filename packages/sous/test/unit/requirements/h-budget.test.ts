/** H1, H2: one budget for the whole tree: nobody overspends, what is not spent comes back, and the error has numbers. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { after, calls, cuts, fails, hangs, reportsNoUsage, says, streams, uses } from "../../../src/testing/steps.ts";
import { parallelOutput, readBy, runTree, startsOf, statuses } from "../../support/requirements/run-tree.ts";
import { simpleTool } from "../../support/requirements/support.ts";

/** A task for `label` with words of its own. */
function child(label: string, more: Record<string, unknown> = {}) {
  return calls("subagent", { label, task_prompt: `Do ${label}.`, ...more });
}

function inParallel(labels: readonly string[], options: Record<string, unknown> = {}) {
  return calls("parallel_subagent", {
    tasks: labels.map((label) => ({ label, task_prompt: `Do ${label}.` })),
    ...options,
  });
}

const NEVER = { limits: { summary: "never" } } as const;

suite("H1: executions", () => {
  test("H1: executions count children that started, whatever became of them, over the whole tree and not the root", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [child("a"), child("b"), child("c"), says("Seen.")],
        "lead/a": [child("below"), says("Done.")],
        "lead/a/below": [fails("invalid_request")],
        "lead/b": [[says("No."), hangs()]],
      },
      run: { budget: { executions: 3 } },
      during: ({ handle, at }) => at(1000, () => handle.cancel("lead/b")),
    });
    assert.deepEqual(Object.keys(statuses(result)).sort(), ["lead", "lead/a", "lead/a/below", "lead/b"]);
    assert.equal(readBy(stage, "subagent")[2], "Execution limit reached: 3/3");
    assert.equal(result.status, "completed");
  });

  test("H1: siblings in parallel cannot overspend executions", async () => {
    const { stage } = await runTree({
      script: { lead: [inParallel(["a", "b", "c", "d", "e", "f"]), says("Seen.")], "lead/*": [says("Done.")] },
      run: { budget: { executions: 5 } },
    });
    const { results, successful, failed } = parallelOutput(stage);
    assert.deepEqual([successful, failed], [5, 1]);
    assert.equal(results[5]?.error, "Execution limit reached: 5/5");
    assert.equal(startsOf(stage).length, 6);
  });

  test("H1: executions of a child's own budget count those below it, not itself", async () => {
    const { stage } = await runTree({
      script: {
        lead: [calls("subagent_head", { task: "Share." }), says("Seen.")],
        "lead/head": [inParallel(["a", "b"]), says("Shared.")],
        "lead/head/*": [says("Done.")],
      },
      lead: { delegate: false, subagents: [agent({ name: "head", delegate: true, budget: { executions: 1 } })] },
    });
    const { results } = parallelOutput(stage, "lead/head");
    assert.deepEqual(
      results.map(({ success, error }) => [success, error]),
      [
        [true, undefined],
        [false, "Execution limit reached: 1/1"],
      ],
    );
  });

  test("H1: a child that was cancelled before it started has spent none", async () => {
    const { result } = await runTree({
      script: {
        lead: [[child("a"), child("b")], child("c"), says("Seen.")],
        "lead/a": [[after(2000), says("Done.")]],
        "lead/c": [says("Done.")],
      },
      runtime: { limits: { maxConcurrent: 1 } },
      run: { budget: { executions: 2 } },
      during: ({ handle, at }) => at(1000, () => handle.cancel("lead/b")),
    });
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a": "completed", "lead/c": "completed" });
  });
});

suite("H1: tokens", () => {
  test("H1: spending exactly the limit is within it, and the next call is not made", async () => {
    const { result, stage } = await runTree({
      script: {
        lead: [
          [says("First."), calls("look"), uses({ input: 900, output: 100 })],
          [says("Second."), uses({ input: 900, output: 100 })],
        ],
      },
      lead: { delegate: false, maxOutputTokens: 100, tools: [simpleTool("look")] },
      run: { budget: { tokens: 2000 }, onExhausted: "stop" },
    });
    // The prompt of the second call is measured by the first: 1,000 and what was added. With its output it is over.
    assert.deepEqual([result.status, result.text, result.usage.totalTokens], ["budget_exceeded", "First.", 1000]);
    assert.match(result.error?.message ?? "", /^Token limit exceeded: \d+\/2000 \(spent /);
    assert.equal(stage.model.requestCount, 1);

    const whole = await runTree({
      script: { lead: [[says("Whole."), uses({ input: 1900, output: 100 })]] },
      lead: { delegate: false },
      run: { budget: { tokens: 2000 } },
    });
    assert.deepEqual([whole.result.status, whole.result.usage.totalTokens], ["completed", 2000]);
  });

  test("H1: the output cap of a call is lowered to what is left", async () => {
    const caps: (number | undefined)[] = [];
    const { result } = await runTree({
      script: { lead: [[says("Short."), uses({ input: 10, output: 10 })]] },
      lead: { delegate: false },
      run: { budget: { tokens: 2000 } },
      model: { onRequest: ({ settings }) => void caps.push(settings.maxOutputTokens) },
    });
    assert.equal(result.status, "completed");
    const [cap = 0] = caps;
    assert.ok(cap < 2000 && cap >= 512, `${cap}`);
    const free = await runTree({
      script: { lead: [says("Free.")] },
      lead: { delegate: false },
      model: { onRequest: ({ settings }) => void caps.push(settings.maxOutputTokens) },
    });
    assert.deepEqual([free.result.status, caps[1]], ["completed", undefined]);
  });

  test("H1: eight siblings who want more than there is wait for each other and never overspend", async () => {
    const { stage, result } = await runTree({
      script: {
        lead: [inParallel(["a", "b", "c", "d", "e", "f", "g", "h"], { max_concurrent: 8 }), says("Seen.")],
        "lead/*": ({ caller }) =>
          caller.turn < 4
            ? [after(100), says(`Turn ${caller.turn}.`), calls("look"), uses({ input: 400 * caller.turn, output: 200 })]
            : [after(100), says("Done."), uses({ input: 400, output: 200 })],
      },
      lead: { tools: [simpleTool("look")] },
      runtime: { limits: { summary: "never", maxConcurrent: 8 } },
      run: { budget: { tokens: 44_000 } },
    });
    assert.ok(result.usage.totalTokens <= 44_000, `${result.usage.totalTokens}`);
    assert.equal(parallelOutput(stage).results.length, 8);
    // Nobody was left without a word.
    assert.deepEqual(
      parallelOutput(stage).results.filter(({ output }) => output === ""),
      [],
    );
  });

  test("H1: usage far over the estimate is counted in full, and nothing is spent after it", async () => {
    const { result, stage } = await runTree({
      script: {
        lead: [child("a"), child("b"), says("Unreached.")],
        "lead/a": [[says("Costly."), uses({ input: 90_000, output: 10 })]],
      },
      runtime: NEVER,
      run: { budget: { tokens: 10_000 } },
    });
    assert.equal(result.status, "budget_exceeded");
    assert.ok(result.usage.totalTokens > 90_000);
    assert.deepEqual(startsOf(stage), ["lead", "lead/a"]);
    assert.equal(stage.requestsOf("lead").length, 1);
  });

  test("H1: unreported usage is estimated, marked, and charged", async () => {
    const { result, stage } = await runTree({
      script: {
        lead: [child("a"), [says("Seen."), uses({ input: 100, output: 10 })]],
        "lead/a": [[says("x".repeat(300)), reportsNoUsage()]],
      },
      runtime: NEVER,
    });
    const [end] = stage.eventsOf("run-end", "lead/a");
    assert.deepEqual([end?.usage.estimated, end?.usage.outputTokens], [true, 100]);
    assert.ok((end?.usage.inputTokens ?? 0) > 0);
    assert.equal(result.usage.estimated, true);
    assert.equal(result.agents.find(({ path }) => path === "lead/a")?.usage.estimated, true);
    assert.equal(stage.eventsOf("run-end", "lead")[0]?.usage.estimated, false);

    const metered = await runTree({
      script: { lead: [[says("x".repeat(6000)), calls("look"), reportsNoUsage()], says("Unreached.")] },
      lead: { delegate: false, tools: [simpleTool("look")] },
      run: { budget: { tokens: 3000 }, onExhausted: "stop" },
    });
    assert.equal(metered.result.status, "budget_exceeded");
  });
});

suite("H1: every attempt has its own lease", () => {
  test("H1: a retry pays again: nothing if refused before the first byte, the estimate if bytes had come", async () => {
    const { result, stage } = await runTree({
      script: {
        lead: [
          fails("overloaded", { retryAfterMs: 100 }),
          [streams("Half of ", "an answer."), cuts()],
          [says("Whole."), uses({ input: 100, output: 10 })],
        ],
      },
      lead: { delegate: false },
      run: { budget: { tokens: 8000 } },
    });
    assert.deepEqual([result.status, result.text], ["completed", "Whole."]);
    const [refused, cut] = stage.eventsOf("retry");
    assert.deepEqual([refused?.kind, refused?.delayMs, refused?.spent.totalTokens], ["overloaded", 100, 0]);
    assert.deepEqual([cut?.kind, cut?.spent.estimated, cut?.spent.outputTokens], ["interrupted", true, 6]);
    assert.equal(result.usage.totalTokens, 110 + (cut?.spent.totalTokens ?? 0));
    assert.deepEqual([result.usage.estimated, stage.eventsOf("turn-start").length], [true, 1]);
  });

  test("H1: a model that fails for ever has spent nothing and held nothing back", async () => {
    const { result, stage } = await runTree({
      script: {
        lead: [child("a"), child("b"), says("Seen.")],
        "lead/a": () => fails("overloaded", { retryAfterMs: 10 }),
        "lead/b": [[says("Done."), uses({ input: 100, output: 10 })]],
      },
      runtime: NEVER,
      run: { budget: { tokens: 12_000 } },
    });
    assert.deepEqual(statuses(result), { lead: "completed", "lead/a": "failed", "lead/b": "completed" });
    const retries = stage.eventsOf("retry", "lead/a");
    assert.ok(retries.length > 4 && retries.every(({ spent }) => spent.totalTokens === 0));
    assert.equal(stage.eventsOf("run-end", "lead/a")[0]?.usage.totalTokens, 0);
  });

  test("H1: cancel gives reservations back: a sibling that waited for them continues", async () => {
    const { result } = await runTree({
      script: {
        lead: [[child("holds", { allowed_tools: [] }), child("waits", { allowed_tools: [] })], says("Seen.")],
        "lead/holds": [hangs()],
        "lead/waits": [[says("Done."), uses({ input: 100, output: 10 })]],
      },
      runtime: { limits: { ...NEVER.limits, children: { tokens: 3000 } } },
      during({ handle, at, stage }) {
        at(900, () => assert.equal(stage.requestsOf("lead/waits").length, 0));
        at(1000, () => handle.cancel("lead/holds"));
      },
    });
    assert.deepEqual(statuses(result), { lead: "completed", "lead/holds": "cancelled", "lead/waits": "completed" });
    assert.equal(result.durationMs, 1000);
  });
});
