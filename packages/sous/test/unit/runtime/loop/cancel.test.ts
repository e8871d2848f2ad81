/** Cancel in every state a run can be in: it ends at once, what is below it too, and nothing is left behind. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { AgentOptions } from "../../../../src/core/agent.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import type { RunResult, RuntimeOptions } from "../../../../src/core/runtime.ts";
import { calls, fails, hangs, type Script, says, streams } from "../../../../src/testing/steps.ts";
import { openStage, type Stage, simpleTool } from "../../../support/requirements/support.ts";

const child = { label: "x", task_prompt: "Look." };
const pair = {
  tasks: [
    { ...child, label: "a" },
    { ...child, label: "b" },
  ],
};
const forEver = () => new Promise<never>(() => {});

/** Runs until the moment has come and 500 ms more, then cancels everything. */
type Case = {
  state: string;
  script: Script;
  lead?: Partial<AgentOptions>;
  runtime?: RuntimeOptions;
  budget?: number;
  moment: (event: SousEvent) => boolean;
  /** Virtual milliseconds from the cancel to the end; 0 when unset. */
  takes?: number;
  check?: (stage: Stage, result: RunResult) => void;
};

const isTurnOf = (path: string) => (event: SousEvent) => event.type === "turn-start" && event.path === path;
const isCallOf = (name: string) => (event: SousEvent) => event.type === "tool-call-start" && event.toolName === name;

const cases: Case[] = [
  {
    state: "while the model thinks",
    script: { lead: [hangs()] },
    moment: isTurnOf("lead"),
  },
  {
    state: "while the model streams: what came is kept and charged as an estimate",
    script: { lead: [[streams("The first ", "half"), hangs()]] },
    moment: (event) => event.type === "text-delta" && event.text === "half",
    check(_stage, { text, usage }) {
      assert.equal(text, "The first half");
      assert.equal(usage.estimated, true);
      assert.ok(usage.outputTokens > 0);
    },
  },
  {
    state: "in a tool that heeds its signal",
    script: { lead: [calls("wait")] },
    lead: {
      tools: [
        simpleTool("wait", (_input, { signal }) => {
          const { promise, reject } = Promise.withResolvers<never>();
          signal.addEventListener("abort", () => reject(signal.reason));
          return promise;
        }),
      ],
    },
    moment: isCallOf("wait"),
    check(stage) {
      const [end] = stage.eventsOf("tool-call-end");
      assert.deepEqual([end?.output, end?.isError], ["The call was cancelled", true]);
    },
  },
  {
    state: "in a tool that ignores its signal, which is left behind after a second",
    script: { lead: [[calls("wait"), calls("wait")]] },
    lead: { tools: [simpleTool("wait", forEver)] },
    moment: isCallOf("wait"),
    takes: 1000,
  },
  {
    state: "in a tool that ends well all the same",
    script: { lead: [calls("wait")] },
    lead: {
      tools: [
        simpleTool("wait", (_input, { signal }) => {
          const { promise, resolve } = Promise.withResolvers<string>();
          signal.addEventListener("abort", () => resolve("half a file"));
          return promise;
        }),
      ],
    },
    moment: isCallOf("wait"),
    check: (stage) => assert.equal(stage.eventsOf("tool-call-end")[0]?.output, "half a file"),
  },
  {
    state: "while it waits for approval: the question is withdrawn",
    script: { lead: [calls("write")] },
    lead: { tools: [simpleTool("write", () => assert.fail("not allowed"), { tier: "confirm" })] },
    runtime: { approve: forEver },
    moment: (event) => event.type === "approval-request",
    check(stage) {
      assert.deepEqual(
        stage.eventsOf("approval-end").map(({ allowed, by }) => ({ allowed, by })),
        [{ allowed: false, by: "cancelled" }],
      );
    },
  },
  {
    state: "in a hook that never answers",
    script: { lead: [calls("look")] },
    lead: { tools: [simpleTool("look")], hooks: { beforeToolCall: forEver } },
    moment: isCallOf("look"),
  },
  {
    state: "in a hook after a call that never answers",
    script: { lead: [calls("look")] },
    lead: { tools: [simpleTool("look")], hooks: { afterToolCall: forEver } },
    moment: isCallOf("look"),
  },
  {
    state: "while a schema checks the input",
    script: { lead: [calls("look")] },
    lead: {
      tools: [
        simpleTool("look", undefined, {
          inputSchema: {
            "~standard": {
              version: 1,
              vendor: "test",
              validate: forEver,
              jsonSchema: { input: () => ({ type: "object" }) },
            },
          } as never,
        }),
      ],
    },
    moment: isCallOf("look"),
  },
  {
    state: "while it backs off before another attempt",
    script: { lead: [fails("overloaded", { retryAfterMs: 60_000 }), says("Never.")] },
    moment: (event) => event.type === "retry",
    check: (stage) => assert.equal(stage.model.requestCount, 1),
  },
  {
    state: "while others hold the model back",
    script: {
      lead: [calls("parallel_subagent", pair)],
      "lead/a": [fails("rate_limit", { retryAfterMs: 60_000 })],
      "lead/b": [calls("look"), says("Never.")],
    },
    lead: { tools: [simpleTool("look")] },
    moment: (event) => event.type === "tool-call-end" && event.path === "lead/b",
  },
  {
    state: "while it waits for a slot of the model",
    script: {
      lead: [calls("parallel_subagent", pair)],
      "lead/*": [hangs()],
    },
    runtime: { maxConcurrentCalls: 1 },
    moment: (event) => event.type === "turn-start" && event.depth === 1,
    check: (stage) => assert.equal(stage.model.requestCount, 2, "the lead and one child"),
  },
  {
    state: "while it waits for budget",
    script: {
      lead: [calls("parallel_subagent", pair)],
      "lead/*": [hangs()],
    },
    budget: 11_000,
    moment: (event) => event.type === "turn-start" && event.depth === 1,
    check: (stage) => assert.equal(stage.eventsOf("turn-start").length, 2, "the lead and one child"),
  },
  {
    state: "while it waits for a place among the runs at work",
    script: {
      lead: [calls("parallel_subagent", { ...pair, max_concurrent: 2 })],
      "lead/*": [hangs()],
    },
    runtime: { limits: { maxConcurrent: 1 } },
    moment: (event) => event.type === "turn-start" && event.depth === 1,
    check(stage) {
      assert.deepEqual(
        stage.eventsOf("run-start").map(({ path }) => path),
        ["lead", "lead/a"],
        "the one in the queue never was",
      );
    },
  },
  {
    state: "while it waits for a child, and the child for its own",
    script: {
      lead: [calls("subagent", child)],
      "lead/x": [calls("subagent", { label: "y", task_prompt: "Deeper." })],
      "lead/x/y": [[streams("I see "), hangs()]],
    },
    moment: (event) => event.type === "text-delta",
    check(stage) {
      assert.deepEqual(
        stage.eventsOf("run-end").map(({ path, status }) => [path, status]),
        [
          ["lead/x/y", "cancelled"],
          ["lead/x", "cancelled"],
          ["lead", "cancelled"],
        ],
      );
    },
  },
  {
    state: "while it waits for background children",
    script: {
      lead: [calls("subagent", { ...child, background: true }), says("I wait.")],
      "lead/x": [hangs()],
    },
    moment: (event) => event.type === "message-end" && event.path === "lead" && event.turn === 2,
    check: (_stage, { text }) => assert.equal(text, "I wait."),
  },
  {
    state: "while it sums up: the answer is kept, the ending is told",
    script: {
      lead: [calls("subagent", { ...child, summary_prompt: "In one word." })],
      "lead/x": [says("A long answer."), [streams("Half"), hangs()]],
    },
    moment: (event) => event.type === "text-delta" && event.text === "Half",
    check(stage) {
      const [end] = stage.eventsOf("run-end", "lead/x");
      assert.deepEqual([end?.status, end?.text], ["cancelled", "A long answer."]);
    },
  },
];

suite("the end of a cancelled run", () => {
  for (const { state, script, lead, runtime = {}, budget, moment, takes = 0, check } of cases) {
    test(`a run is cancelled ${state}`, async () => {
      const stage = openStage(script, { runtime });
      const handle = stage.start(stage.lead(lead), "The task.", { budget: { tokens: budget } });
      let cancelledAt = 0;
      stage.when(moment, () => {
        stage.world.clock.ownTimer(500, () => {
          cancelledAt = stage.world.clock.monotonic();
          assert.equal(handle.cancel(), true);
          assert.equal(handle.cancel(), true, "twice is once");
        });
      });
      const result = await stage.end(handle);
      assert.deepEqual(
        [result.status, result.error],
        ["cancelled", { type: "cancelled", message: "The run was cancelled" }],
      );
      assert.ok(cancelledAt > 0);
      assert.equal(stage.world.clock.monotonic() - cancelledAt, takes);
      assert.equal(handle.cancel(), false, "there is nothing left to cancel");
      check?.(stage, result);
    });
  }

  test("a run that is cancelled before it has begun ends at once", async () => {
    const stage = openStage({ lead: [says("Never.")] });
    const handle = stage.start(stage.lead());
    assert.equal(handle.cancel(), true);
    const result = await stage.end(handle);
    assert.deepEqual([result.status, stage.model.requestCount], ["cancelled", 0]);
  });

  test("a run that the signal of the caller cancels ends at once, and the signal keeps no listener", async () => {
    const stage = openStage({ lead: [hangs()] });
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
      listeners += 1;
      addEventListener.apply(signal, given);
    };
    signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
      listeners -= 1;
      removeEventListener.apply(signal, given);
    };
    stage.when(isTurnOf("lead"), () => controller.abort());
    const result = await stage.run(stage.lead(), "The task.", { signal });
    assert.deepEqual([result.status, listeners], ["cancelled", 0]);
  });

  test("a run whose signal was aborted before ends at once", async () => {
    const stage = openStage({ lead: [says("Never.")] });
    const result = await stage.run(stage.lead(), "The task.", { signal: AbortSignal.abort() });
    assert.deepEqual([result.status, stage.model.requestCount], ["cancelled", 0]);
  });

  test("a cancelled run ends at once though its model ignores the signal", async () => {
    const stage = openStage({});
    const deaf = { id: "test/deaf", answer: forEver };
    const handle = stage.start(stage.lead({ model: deaf }));
    stage.when(isTurnOf("lead"), () => handle.cancel());
    assert.equal((await stage.end(handle)).status, "cancelled");
  });
});
