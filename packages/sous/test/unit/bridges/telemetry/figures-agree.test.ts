/** F5: what a child took is the same number in its report, in the log, in the store and in its run's end. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { createLifecycleLog } from "../../../../src/bridges/telemetry/log.ts";
import { agent } from "../../../../src/core/agent.ts";
import type { HookCall } from "../../../../src/core/approval.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import type { ModelRequest, ToolDefinition } from "../../../../src/core/model.ts";
import type { ToolResult } from "../../../../src/core/tool.ts";
import type { NamedAgentResult } from "../../../../src/runtime/subagents/named-agent.ts";
import { run } from "../../../../src/runtime.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { calls, says, uses } from "../../../../src/testing/steps.ts";
import { inParallel, parallelOutput, runTree, type TreeTrial } from "../../../support/requirements/run-tree.ts";

/** A child with a child: 100 and 120 of its own, 1,000 and 2,000 below. */
const nested = {
  "lead/two": [
    [calls("subagent_three", { task: "Look." }), uses({ input: 90, output: 10 })],
    [says("Two."), uses({ input: 110, output: 10 })],
  ],
  "lead/two/three": [
    [calls("subagent_four", { task: "Look." }), uses({ input: 990, output: 10 })],
    [says("Three."), uses({ input: 0, output: 0 })],
  ],
  "lead/two/three/four": [[says("Four."), uses({ input: 1900, output: 100 })]],
};

async function logged(plan: Parameters<typeof runTree>[0]): Promise<TreeTrial & { lines: Record<string, unknown>[] }> {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const log = createLifecycleLog({ write, format: "json", level: "debug", enabled: true });
  const onEvent = (event: SousEvent) => log.onEvent(event);
  return { ...(await runTree({ ...plan, run: { ...plan.run, onEvent } })), lines };
}

const four = agent({ name: "four" });
const three = agent({ name: "three", subagents: [four] });
const two = agent({ name: "two", subagents: [three] });

suite("F5: the tokens of a child with children", () => {
  for (const [name, call] of [
    ["subagent", calls("subagent", { label: "two", task_prompt: "Look.", agent: "two" })],
    ["subagent_<name>", calls("subagent_two", { task: "Look." })],
    ["parallel_subagent", inParallel([{ label: "two", agent: "two" }])],
  ] as const) {
    test(`F5: the tokens of a child are its own in report, log, run-end and store, and tree_tokens has all of them: ${name}`, async () => {
      const { stage, lines, result, returned } = await logged({
        script: { lead: [call, says("Done.")], ...nested },
        lead: { subagents: [two] },
      });
      const metadata = returned[0]?.result.metadata ?? parallelOutput(stage).results[0];
      assert.deepEqual(
        [metadata?.tokens_consumed, metadata?.prompt_tokens, metadata?.completion_tokens, metadata?.tree_tokens],
        [220, 200, 20, 3220],
      );
      const line = lines.find(({ event, label }) => event === "subagent.complete" && label === "two");
      const [end] = stage.eventsOf("run-end", "lead/two");
      const record = await stage.store.run(end?.runId ?? "");
      const summary = result.agents.find(({ path }) => path === "lead/two");
      assert.deepEqual(
        [line?.tokens_consumed, end?.usage.totalTokens, record?.usage.totalTokens, summary?.usage.totalTokens],
        [220, 220, 220, 220],
      );
      if (name === "subagent_<name>") {
        const data = returned[0]?.result.data as NamedAgentResult;
        assert.equal(data.usage.totalTokens, 220);
      }
      const inner = stage.eventsOf("tool-call-end", "lead/two")[0]?.metadata;
      assert.deepEqual([inner?.tokens_consumed, inner?.tree_tokens], [1000, 3000]);
    });
  }
});

suite("F1: max_concurrent", () => {
  for (const [asked, effective] of [
    [8, 5],
    [6, 5],
    [5, 5],
    [2, 2],
    [undefined, 5],
  ] as const) {
    test(`F1: max_concurrent of ${asked} is ${effective} in the log, and a result says when it was lowered`, async () => {
      const { stage, lines } = await logged({
        script: {
          lead: [inParallel([{ label: "a" }, { label: "b" }], asked && { max_concurrent: asked }), says("Done.")],
          "lead/*": [says("Seen.")],
        },
      });
      const told = lines.filter(({ event }) => String(event).startsWith("parallel_subagent."));
      assert.deepEqual(
        told.map(({ max_concurrent }) => max_concurrent),
        [effective, effective],
      );
      const { max_concurrent, notice } = parallelOutput(stage);
      const isLowered = asked !== undefined && asked > 5;
      assert.deepEqual(
        [max_concurrent, notice],
        isLowered
          ? [5, `max_concurrent was lowered from ${asked} to 5: at most 5 subagents work at once here`]
          : [undefined, undefined],
      );
    });
  }
});

test("C3: durations are whole milliseconds, on the clock of the machine too", async () => {
  const model = scriptedModel({
    lead: [calls("subagent_two", { task: "Look." }), says("Done.")],
    "lead/two": [says("Two.")],
  });
  const data: NamedAgentResult[] = [];
  const hooks = { afterToolCall: (_: HookCall, result: ToolResult) => void data.push(result.data as NamedAgentResult) };
  const ends: number[] = [];
  const result = await run(agent({ name: "lead", model, hooks, subagents: [agent({ name: "two" })] }), "Go.", {
    onEvent: (event) => void (event.type === "run-end" && ends.push(event.durationMs)),
  });
  const all = [
    result.durationMs,
    ...data.map((each) => each.durationMs),
    ...result.agents.map((each) => each.durationMs),
    ...ends,
  ];
  assert.equal(all.length, 6);
  assert.deepEqual(all.map(Math.round), all);
});

type Described = { description?: string; properties?: Record<string, Described>; items?: Described };

suite("B1: descriptions name the defaults that hold in the tree", () => {
  for (const [limits, expected] of [
    [{}, /1 to 50 \(default 10, .*default for a long answer: Summarize your findings concisely/],
    [{ defaultMaxTurns: 25, summary: "always" }, /\(default 25, .*\(default: Summarize your findings concisely/],
    [{ summary: "never" }, /Without effect here: no summary is asked for/],
  ] as const) {
    test(`B1: descriptions name the defaults that hold in the tree with ${JSON.stringify(limits)}`, async () => {
      const offered: ToolDefinition[] = [];
      const lead = ({ tools }: ModelRequest) => {
        offered.push(...tools);
        return says("Done.");
      };
      await runTree({ script: { lead }, runtime: { limits } });
      const schemaOf = (name: string) =>
        offered.find((each) => each.name === name)?.inputSchema as Described | undefined;
      const inTasks = schemaOf("parallel_subagent")?.properties?.tasks?.items;
      for (const schema of [schemaOf("subagent"), inTasks]) {
        const { max_turns, summary_prompt } = schema?.properties ?? {};
        assert.match(`${max_turns?.description} ${summary_prompt?.description}`, expected);
      }
    });
  }
});
