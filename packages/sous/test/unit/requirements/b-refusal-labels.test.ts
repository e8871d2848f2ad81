/** B2, F1: a refused child is called by the label that was asked for, whatever it was refused for. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { createLifecycleLog } from "../../../src/bridges/telemetry/log.ts";
import { type AgentOptions, agent } from "../../../src/core/agent.ts";
import type { SousEvent } from "../../../src/core/event.ts";
import type { RunOptions, RuntimeOptions } from "../../../src/core/runtime.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, type Step, says } from "../../../src/testing/steps.ts";
import { fakeClient, registryWith } from "../../support/requirements/embedding.ts";
import { runTree } from "../../support/requirements/run-tree.ts";

type Plan = { call: Step; lead?: Partial<AgentOptions>; runtime?: RuntimeOptions; run?: RunOptions };

/** What `lead/deep`, or the root when there is no such child, is refused: events and lines of the log. */
async function refusals({ call, lead, runtime, run }: Plan, isDeep = false): Promise<string[]> {
  const told: string[] = [];
  const log = createLifecycleLog({
    write: (line) => void lines.push(JSON.parse(line)),
    format: "json",
    level: "debug",
    enabled: true,
  });
  const lines: Record<string, unknown>[] = [];
  const onEvent = (event: SousEvent) => {
    log.onEvent(event);
    if (event.type === "spawn-refused") told.push(`${event.errorType} ${event.label}`);
  };
  await runTree({
    script: isDeep
      ? { lead: [calls("subagent_deep", { task: "Dig." }), says("Done.")], "lead/deep": [call, says("Then not.")] }
      : { lead: [call, says("Done.")] },
    lead: isDeep ? { delegate: false, subagents: [agent({ name: "deep", ...lead })] } : (lead ?? {}),
    runtime: { ...runtime, limits: { ...runtime?.limits, ...(isDeep && { maxDepth: 1 }) } },
    run: { ...run, onEvent },
  });
  const labels = lines
    .filter(({ event }) => event === "subagent.depth_limit" || event === "subagent.error")
    .map(({ label }) => label);
  assert.deepEqual(
    labels,
    told.map((each) => each.split(" ")[1]),
    "the log says the same",
  );
  return told;
}

const three = { label: "three", task_prompt: "Look." };
const tasks = ["one", "two", "three"].map((label) => ({ label, task_prompt: `Look at ${label}.` }));

suite("B2: the label of a refused child", () => {
  const registry = () => [...registryWith({ model: scriptedModel(), client: fakeClient(async () => ""), maxDepth: 9 })];
  const tooDeep: [name: string, call: Step, labels: string[], lead?: Partial<AgentOptions>][] = [
    ["subagent", calls("subagent", three), ["three"], { delegate: true }],
    ["parallel_subagent", calls("parallel_subagent", { tasks }), ["one", "two", "three"], { delegate: true }],
    ["subagent_<name>", calls("subagent_scout", { task: "x" }), ["scout"], { subagents: [agent({ name: "scout" })] }],
    ["subagent_spawn", calls("subagent_spawn", { task: "x", description: "three" }), ["three"], { tools: registry() }],
    [
      "subagent_delegate",
      calls("subagent_delegate", { task: "x", description: "three" }),
      ["three"],
      { tools: registry() },
    ],
    ["subagent without a label", calls("subagent", { task_prompt: "x" }), ["subagent"], { delegate: true }],
    ["subagent with a blank label", calls("subagent", { label: " " }), ["subagent"], { delegate: true }],
    ["parallel_subagent without tasks", calls("parallel_subagent", {}), ["parallel_subagent"], { delegate: true }],
    ["subagent_list, which starts none", calls("subagent_list"), [], { delegate: true }],
    ["subagent_report, which starts none", calls("subagent_report", { subagent_id: "x" }), [], { delegate: true }],
  ];
  for (const [name, call, labels, lead] of tooDeep) {
    test(`B3: a child one level too deep has its label in the refusal, asked for by ${name}`, async () => {
      assert.deepEqual(
        await refusals({ call, ...(lead && { lead }) }, true),
        labels.map((label) => `depth_limit ${label}`),
      );
    });
  }

  const parallel = calls("parallel_subagent", { tasks });
  const others: [name: string, plan: Plan, labels: string[]][] = [
    ["an unknown tool", { call: calls("subagent", { ...three, allowed_tools: ["none"] }) }, ["invalid_input three"]],
    ["an unknown agent", { call: calls("subagent", { ...three, agent: "nobody" }) }, ["invalid_input three"]],
    ["its caller's own task", { call: calls("subagent", { ...three, task_prompt: "Go." }) }, ["invalid_input three"]],
    ["no executions", { call: calls("subagent", three), run: { budget: { executions: 0 } } }, ["quota three"]],
    [
      "no executions for any of three",
      { call: parallel, run: { budget: { executions: 0 } } },
      ["quota one", "quota two", "quota three"],
    ],
    [
      "no executions for a specialist",
      {
        call: calls("subagent_scout", { task: "x" }),
        lead: { subagents: [agent({ name: "scout" })] },
        run: { budget: { executions: 0 } },
      },
      ["quota scout"],
    ],
  ];
  for (const [name, plan, labels] of others) {
    test(`B2: a refusal has the label of a child: ${name}`, async () => assert.deepEqual(await refusals(plan), labels));
  }

  test("C8: a child without a slot has its label in the refusal", async () => {
    const full = { limits: { maxConcurrent: 1, onFull: "refuse" } } as const;
    const told: string[] = [];
    const { stage } = await runTree({
      script: {
        lead: [calls("parallel_subagent", { tasks, max_concurrent: 3 }), says("Done.")],
        "lead/*": [says("Seen.")],
      },
      runtime: full,
    });
    for (const { label, message } of stage.eventsOf("spawn-refused")) told.push(`${label}: ${message}`);
    assert.deepEqual(
      told,
      ["two", "three"].map(
        (label) =>
          `${label}: maximum concurrent subagent limit reached, so lead/${label} did not start. Try again when another subagent completes.`,
      ),
    );
  });
});
