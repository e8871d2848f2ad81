/** F3: what the fold counts, from journals written by hand and from real trees. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { measureRuns } from "../../../../src/bridges/telemetry/metrics.ts";
import { createRegistry } from "../../../../src/bridges/telemetry/registry.ts";
import { measureStore } from "../../../../src/bridges/telemetry/totals-metrics.ts";
import { ModelError } from "../../../../src/core/errors.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import { noUsage, type Usage } from "../../../../src/core/usage.ts";
import { DEFAULT_LIMITS } from "../../../../src/core/words/limits.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { after, calls, says, uses } from "../../../../src/testing/steps.ts";
import { samplesOf, storedPart, sumsOf } from "../../../support/bridges/telemetry/metric-text.ts";
import { externalTree } from "../../../support/external-tree.ts";
import { inParallel, runTree } from "../../../support/requirements/run-tree.ts";
import { goOn, live, type Scenario } from "../../../support/runtime/tree/restore/crash-points.ts";

function measured(events: Iterable<SousEvent>): string {
  const registry = createRegistry();
  const onEvent = measureRuns(registry);
  for (const event of events) onEvent(event);
  return registry.render();
}

function usage(input: number, output: number, more: Partial<Usage> = {}): Usage {
  return { ...noUsage(), inputTokens: input, outputTokens: output, totalTokens: input + output, ...more };
}

const TERMS = {
  limits: DEFAULT_LIMITS,
  conversation: { contextWindow: undefined, pruneAt: 0.8, keepRecent: 4 },
  onExhausted: "stop",
  onLiveChildren: "wait",
} as unknown as NonNullable<Extract<SousEvent, { type: "run-start" }>["terms"]>;

suite("F3: a run that ends", () => {
  const tree = sampleTree("root");
  tree.start("root", { details: { agent: "lead", model: "google/gemini" } });
  tree.start("child", { parent: "root", label: "a secret", details: { agent: "scout", model: "openai/gpt" } });
  tree.end("child", {
    status: "failed",
    fault: { type: "tool", message: "No." },
    turns: 3,
    durationMs: 1500,
    usage: usage(100, 10, { cachedInputTokens: 60, cacheWriteTokens: 5 }),
    costUsd: null,
  });
  tree.end("root", { durationMs: 4000, turns: 2, usage: usage(1000, 50), costUsd: 0.25 });
  const text = measured(tree.events);

  test("F3: a run that ends is counted once in every counter, with its depth, its outcome and its definition", () => {
    assert.deepEqual(samplesOf(text, "executions"), { '{depth="0"}': 1, '{depth="1"}': 1 });
    assert.deepEqual(samplesOf(text, "active"), { '{depth="0"}': 0, '{depth="1"}': 0 });
    assert.deepEqual(samplesOf(text, "completions"), {
      '{depth="0",status="complete"}': 1,
      '{depth="1",status="failed"}': 1,
    });
    assert.deepEqual(samplesOf(text, "errors"), { '{depth="1",error_type="tool"}': 1 });
    assert.deepEqual(samplesOf(text, "invocations"), {
      '{agent="lead",outcome="complete"}': 1,
      '{agent="scout",outcome="failed"}': 1,
    });
  });

  test("F3: a run that ends adds its own sums, and an unknown cost is counted apart", () => {
    assert.deepEqual(sumsOf(text, "duration"), {
      '_sum{depth="0",status="complete"}': 4,
      '_count{depth="0",status="complete"}': 1,
      '_sum{depth="1",status="failed"}': 1.5,
      '_count{depth="1",status="failed"}': 1,
    });
    assert.deepEqual(sumsOf(text, "tokens"), {
      '_sum{depth="0"}': 1050,
      '_count{depth="0"}': 1,
      '_sum{depth="1"}': 110,
      '_count{depth="1"}': 1,
    });
    assert.equal(sumsOf(text, "turns")['_sum{depth="1"}'], 3);
    assert.deepEqual(samplesOf(text, "cost"), { '{agent="lead"}': 0.25 });
    assert.deepEqual(samplesOf(text, "unpriced"), { '{agent="scout"}': 1 });
    assert.deepEqual(samplesOf(text, "modelTokens"), {
      '{model="openai/gpt",type="input"}': 100,
      '{model="openai/gpt",type="output"}': 10,
      '{model="openai/gpt",type="cache_read"}': 60,
      '{model="openai/gpt",type="cache_write"}': 5,
      '{model="google/gemini",type="input"}': 1000,
      '{model="google/gemini",type="output"}': 50,
      '{model="google/gemini",type="cache_read"}': 0,
      '{model="google/gemini",type="cache_write"}': 0,
    });
  });

  test("F3: a run that ends gives no label, path or text to the metrics", () => {
    assert.doesNotMatch(text, /secret|No\.|Look around/);
  });
});

test("F3: a refused child is an error of its depth and no execution", () => {
  const tree = sampleTree("root");
  tree.start("root");
  tree.add("root", { type: "spawn-refused", label: "x", errorType: "depth_limit", message: "Too deep." });
  const text = measured(tree.events);
  assert.deepEqual(samplesOf(text, "executions"), { '{depth="0"}': 1 });
  assert.deepEqual(samplesOf(text, "errors"), { '{depth="1",error_type="depth_limit"}': 1 });
  assert.deepEqual(samplesOf(text, "active"), { '{depth="0"}': 1 });
});

test("F3: a run that was resumed is active and no execution of this process, and is counted once however often it is seen", () => {
  const tree = sampleTree("root");
  tree.start("root", { details: { agent: "lead", model: "openai/gpt" } });
  const [start] = tree.events;
  assert.ok(start?.type === "run-start");
  tree.add("root", {
    type: "resume",
    usedMs: 5,
    run: { ...start, startedAt: 0, turns: 0, usage: noUsage() },
  } as unknown as Parameters<typeof tree.add>[1]);
  const afterRestart = tree.events.slice(1);
  assert.deepEqual(samplesOf(measured(afterRestart), "active"), { '{depth="0"}': 1 });
  assert.deepEqual(samplesOf(measured(tree.events), "active"), { '{depth="0"}': 1 });
  tree.end("root");
  const text = measured(tree.events.slice(1));
  assert.deepEqual(samplesOf(text, "active"), { '{depth="0"}': 0 });
  assert.deepEqual(samplesOf(text, "executions"), {});
  assert.deepEqual(samplesOf(text, "invocations"), { '{agent="lead",outcome="complete"}': 1 });
});

suite("F3: a call of a model", () => {
  /** Asked at 1000, first piece 250 later, answered 2000 later. */
  function called(model: string, ending: "answer" | "cancelled", estimated = false): string {
    const tree = sampleTree("root");
    tree.start("root", { time: 0, details: { model } });
    const [start] = tree.events;
    assert.ok(start !== undefined);
    const registry = createRegistry();
    const onEvent = measureRuns(registry);
    const { runId, agentId, parentId, path, depth } = start;
    const who = { runId, agentId, parentId, path, depth };
    onEvent(start);
    onEvent({ ...who, seq: 2, time: 1000, type: "turn-start", turn: 1, promptTokens: 1, reserved: 0 });
    onEvent({ ...who, time: 1250, type: "reasoning-delta", text: "Hm" });
    onEvent({ ...who, time: 1900, type: "text-delta", text: "Hello" });
    const message = { role: "assistant", content: [] } as const;
    const bill = { usage: usage(40, 7, { estimated }), costUsd: null };
    if (ending === "answer")
      onEvent({ ...who, seq: 3, time: 3000, type: "message-end", turn: 1, message, finish: "stop", ...bill });
    tree.end("root", { status: ending === "answer" ? "completed" : "cancelled" });
    const end = tree.events.at(-1);
    assert.ok(end !== undefined);
    onEvent({ ...end, time: 5000 });
    return registry.render();
  }
  const labels = 'gen_ai_operation_name="chat",gen_ai_provider_name="gcp.gemini",gen_ai_request_model="gemini-3"';

  test("F3: a call of a model records its time, its first piece and the tokens that the provider counted", () => {
    const text = called("google/gemini-3", "answer");
    assert.deepEqual(sumsOf(text, "operationDuration"), { [`_sum{${labels}}`]: 2, [`_count{${labels}}`]: 1 });
    assert.deepEqual(sumsOf(text, "firstChunk"), { [`_sum{${labels}}`]: 0.25, [`_count{${labels}}`]: 1 });
    assert.deepEqual(sumsOf(text, "tokenUsage"), {
      [`_sum{${labels},gen_ai_token_type="input"}`]: 40,
      [`_count{${labels},gen_ai_token_type="input"}`]: 1,
      [`_sum{${labels},gen_ai_token_type="output"}`]: 7,
      [`_count{${labels},gen_ai_token_type="output"}`]: 1,
    });
  });

  test("F3: a call that ended without an answer has an error type", () => {
    const text = called("google/gemini-3", "cancelled");
    const failed = `${labels},error_type="cancelled"`;
    assert.deepEqual(sumsOf(text, "operationDuration"), { [`_sum{${failed}}`]: 4, [`_count{${failed}}`]: 1 });
    assert.deepEqual(sumsOf(text, "tokenUsage"), {});
  });

  test("F3: a call whose tokens were estimated records none", () => {
    assert.deepEqual(sumsOf(called("google/gemini-3", "answer", true), "tokenUsage"), {});
  });

  test("F3: an external agent is invoked, not chatted with", () => {
    const text = measured(externalTree().events);
    assert.deepEqual(sumsOf(text, "tokenUsage"), {});
    assert.deepEqual(
      Object.keys(sumsOf(text, "operationDuration")).filter((series) => series.includes("external")),
      ["sum", "count"].map(
        (each) =>
          `_${each}{gen_ai_operation_name="invoke_agent",gen_ai_provider_name="external",gen_ai_request_model="claude-code"}`,
      ),
    );
  });
});

suite("F3: the rest of a budget", () => {
  test("F3: the rest of a budget is that of the live tree with the least, and is gone with the last of them", () => {
    const registry = createRegistry();
    const onEvent = measureRuns(registry);
    const left = () => samplesOf(registry.render(), "budgetRemaining");
    const feed = (tree: ReturnType<typeof sampleTree>) => onEvent(tree.events.at(-1) as SousEvent);
    const [rich, poor] = [sampleTree("rich"), sampleTree("poor")];
    assert.deepEqual(left(), {});
    rich.start("rich", { details: { budget: { tokens: 1000 } } });
    feed(rich);
    poor.start("poor", { details: { budget: { tokens: 100, costUsd: 2 } } });
    feed(poor);
    poor.start("below", { parent: "poor" });
    feed(poor);
    assert.deepEqual(left(), { '{limit="tokens"}': 1, '{limit="cost"}': 1 });
    const spent = { attempt: 1, delayMs: 1, kind: "network", message: "", spent: usage(20, 5), costUsd: 0.5 } as const;
    poor.add("below", { type: "retry", ...spent });
    feed(poor);
    assert.deepEqual(left(), { '{limit="tokens"}': 0.75, '{limit="cost"}': 0.75 });
    // 25 more tokens than its events had named: a call that was stopped.
    poor.end("below", { usage: usage(40, 10), costUsd: 1 });
    feed(poor);
    assert.deepEqual(left(), { '{limit="tokens"}': 0.5, '{limit="cost"}': 0.5 });
    poor.end("poor");
    feed(poor);
    assert.deepEqual(left(), { '{limit="tokens"}': 1 });
    poor.start("again", { details: { budget: { tokens: 100 }, origin: { kind: "follow-up", runId: "poor" } } });
    const again = poor.events.at(-1) as SousEvent;
    onEvent({ ...again, agentId: "poor" });
    assert.deepEqual(left(), { '{limit="tokens"}': 0.5 }, "the next root run continues with what is spent");
  });

  test("F3: the budget of the children counts what they spent alone, and a further run of an unknown tree has none", () => {
    const tree = sampleTree("root");
    const terms = { ...TERMS, limits: { ...DEFAULT_LIMITS, children: { tokens: 200 } } };
    tree.start("root", { details: { terms, budget: { tokens: 10_000 } } });
    tree.turn("root", "x", usage(100, 0));
    tree.start("child", { parent: "root" });
    tree.turn("child", "x", usage(50, 0));
    assert.deepEqual(samplesOf(measured(tree.events), "budgetRemaining"), { '{limit="tokens"}': 0.75 });
    const unknown = sampleTree("later");
    unknown.start("later", { details: { budget: { tokens: 1 }, origin: { kind: "follow-up", runId: "gone" } } });
    assert.deepEqual(samplesOf(measured(unknown.events), "budgetRemaining"), {});
  });
});

test("F3: nothing is kept of a run that has ended: what is said of it afterwards changes no gauge", () => {
  const tree = sampleTree("root");
  tree.start("root");
  tree.end("root");
  tree.add("root", { type: "stalled", seconds: 60, waitingFor: "the model" });
  const text = measured(tree.events);
  assert.deepEqual([samplesOf(text, "stalled"), samplesOf(text, "active")], [{ "": 0 }, { '{depth="0"}': 0 }]);
});

test("F3: the seconds for which a run is told to wait for the rate limit are counted by its model", () => {
  const tree = sampleTree("root");
  tree.start("root");
  const spent = noUsage();
  const failed = { attempt: 1, delayMs: 2500, message: "Slow down", spent, costUsd: 0 };
  tree.add("root", { type: "retry", kind: "rate_limit", ...failed });
  tree.add("root", { type: "retry", kind: "interrupted", ...failed });
  const { runId, agentId, parentId, path, depth, time } = tree.events[0] ?? assert.fail();
  const piece = { runId, agentId, parentId, path, depth, time, type: "rate-wait", delayMs: 1500 } as const;
  assert.deepEqual(Object.values(samplesOf(measured([...tree.events, piece]), "rateWait")), [4]);
});

test("F3: a run is stalled until its next event", () => {
  const tree = sampleTree("root");
  tree.start("root");
  assert.deepEqual(samplesOf(measured(tree.events), "stalled"), { "": 0 });
  tree.add("root", { type: "stalled", seconds: 60, waitingFor: "the model" });
  tree.add("root", { type: "stalled", seconds: 120, waitingFor: "the model" });
  assert.deepEqual(samplesOf(measured(tree.events), "stalled"), { "": 1 });
  tree.turn("root", "x");
  assert.deepEqual(samplesOf(measured(tree.events), "stalled"), { "": 0 });
  tree.add("root", { type: "stalled", seconds: 60, waitingFor: "the model" });
  const { runId, agentId, parentId, path, depth, time } = tree.events[0] ?? assert.fail();
  const piece = { runId, agentId, parentId, path, depth, time, type: "text-delta", text: "x" } as const;
  assert.deepEqual(samplesOf(measured([...tree.events, piece]), "stalled"), { "": 0 });
  tree.end("root");
  assert.deepEqual(samplesOf(measured(tree.events), "stalled"), { "": 0 });
});

const child = (label: string, more: object = {}) => ({ label, ...more });
const broken = { step: "fail", error: new ModelError("invalid_request", "No.") } as const;

/** Every kind of ending that a script can make. */
const ENDINGS: Record<string, Parameters<typeof runTree>[0]> = {
  "that all complete": {
    script: { lead: [inParallel([child("a"), child("b")]), says("Done.")], "lead/*": [says("Seen.")] },
  },
  "of which some fail": {
    script: {
      lead: [inParallel([child("a"), child("b")]), says("Done.")],
      "lead/a": [broken],
      "lead/b": [says("Seen.")],
    },
  },
  "cancelled in the queue and at work": {
    script: {
      lead: [inParallel([child("a"), child("b"), child("c")], { max_concurrent: 1 }), says("Done.")],
      "lead/*": [[after(60_000), says("Late.")]],
    },
    during: ({ handle, at }) => at(1000, () => handle.cancel()),
  },
  "out of time": {
    script: { lead: [inParallel([child("a")]), says("Done.")], "lead/*": [[after(60_000), says("Late.")]] },
    run: { budget: { durationMs: 1000 } },
  },
  "refused for their depth": {
    script: {
      lead: [calls("subagent", { label: "a", task_prompt: "Look at a." }), says("Done.")],
      "lead/a": [calls("subagent", { label: "b", task_prompt: "Look at b." }), says("Done.")],
    },
    runtime: { limits: { maxDepth: 1 } },
  },
  "out of budget": {
    script: {
      lead: [[inParallel([child("a"), child("b")]), uses({ input: 900, output: 50 })], says("Done.")],
      "lead/*": [[says("Seen."), uses({ input: 5000, output: 400 })]],
    },
    run: { budget: { tokens: 9000 } },
  },
};

suite("F5: a live process and the database count the same of children", () => {
  for (const [name, plan] of Object.entries(ENDINGS)) {
    test(`F5: a live process and the database count the same of children: ${name}, and no run stays active`, async () => {
      const registry = createRegistry();
      const { stage } = await runTree({ ...plan, run: { ...plan.run, onEvent: measureRuns(registry) } });
      const stored = createRegistry();
      await measureStore(stage.store, stored).refresh();
      assert.deepEqual(sorted(storedPart(registry.render())), sorted(storedPart(stored.render())));
      assert.ok(stage.eventsOf("run-start").length >= 2);
      assert.deepEqual([...new Set(Object.values(samplesOf(registry.render(), "active")))], [0]);
    });
  }
});

function sorted(values: Record<string, number>): [string, number][] {
  return Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1));
}

test("F5: a tree that was killed behind any of its events and resumed ends with every gauge at 0 and the counts of its journal", async () => {
  const scenario: Scenario = {
    script: {
      lead: [inParallel([child("a"), child("b")]), says("Done.")],
      "lead/*": [calls("subagent", { label: "deep", task_prompt: "Dig." }), says("Seen.")],
      "lead/*/*": [says("Deep.")],
    },
    agent: { delegate: true },
  };
  const { events } = await live(scenario);
  for (let length = 1; length < events.length; length++) {
    const kept = events.slice(0, length);
    const journal = [...kept, ...(await goOn(scenario, kept)).events];
    const ofType = (type: SousEvent["type"]) => journal.filter((event) => event.type === type).length;
    // One fold that saw all of it, and one of the process that continued it.
    const text = measured(journal);
    assert.equal(sum(samplesOf(text, "executions")), ofType("run-start"), `cut behind ${length}`);
    assert.equal(sum(samplesOf(text, "completions")), ofType("run-end"), `cut behind ${length}`);
    for (const seen of [text, measured(journal.slice(length))]) {
      assert.deepEqual([...new Set(Object.values(samplesOf(seen, "active")))], [0], `cut behind ${length}`);
      assert.doesNotMatch(seen, /="other"/, `cut behind ${length}`);
    }
  }
});

function sum(samples: Record<string, number>): number {
  return Object.values(samples).reduce((all, each) => all + each, 0);
}

test("F3: 10,000 live children take little memory, and none once they have ended", () => {
  const registry = createRegistry();
  const onEvent = measureRuns(registry);
  const tree = sampleTree("root");
  const root = tree.start("root");
  onEvent(root);
  const runs = Array.from({ length: 10_000 }, (_, index) => ({
    ...root,
    runId: `run-${index}`,
    parentId: "root",
    depth: 1,
  }));
  for (const run of runs) onEvent(run);
  assert.deepEqual(samplesOf(registry.render(), "active"), { '{depth="0"}': 1, '{depth="1"}': 10_000 });
  tree.end("root");
  const end = tree.events.at(-1) as Extract<SousEvent, { type: "run-end" }>;
  for (const { runId, parentId, depth } of runs) onEvent({ ...end, runId, parentId, depth });
  assert.deepEqual(samplesOf(registry.render(), "active"), { '{depth="0"}': 1, '{depth="1"}': 0 });
  assert.ok(registry.render().split("\n").length < 200, "no series for each run");
});
