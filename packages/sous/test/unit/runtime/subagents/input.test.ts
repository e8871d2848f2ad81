/** The types of inputs that programs import are those that the tools check, in both directions. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { StandardSchema } from "../../../../src/core/schema.ts";
import { type Tool, ToolRegistry } from "../../../../src/core/tool.ts";
import { cancelTool, reportTool, sendTool, waitTool } from "../../../../src/runtime/subagents/child-tools.ts";
import { subagentTool } from "../../../../src/runtime/subagents/delegation-tools.ts";
import type {
  NamedAgentInput,
  ParallelSubagentInput,
  SubagentCancelInput,
  SubagentDelegateInput,
  SubagentInput,
  SubagentReportInput,
  SubagentSendInput,
  SubagentSpawnInput,
  SubagentWaitInput,
} from "../../../../src/runtime/subagents/input.ts";
import { parallelTool } from "../../../../src/runtime/subagents/parallel.ts";
import { registerSubagentTools } from "../../../../src/runtime.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { fakeClient } from "../../../support/requirements/embedding.ts";

test("every field of an exported input is one that its tool takes, and the other way round", async () => {
  const registry = new ToolRegistry();
  registerSubagentTools(registry, { model: scriptedModel(), client: fakeClient(async () => "") });
  const task = { label: "a", task_prompt: "b" };
  const whole: [tool: Tool | undefined, input: object][] = [
    [
      subagentTool,
      {
        ...task,
        summary_prompt: "c",
        allowed_tools: ["d"],
        max_turns: 1,
        agent: "e",
        model: "f/g",
        system_prompt: "h",
        timeout_ms: 1,
        output_schema: {},
        context: "fork",
        background: true,
      } satisfies Required<SubagentInput>,
    ],
    [
      parallelTool({ maxConcurrent: 5, now: () => 0 }),
      { tasks: [task], max_concurrent: 1, fail_fast: true } satisfies Required<ParallelSubagentInput>,
    ],
    [
      registry.get("subagent_spawn"),
      { task: "a", description: "b", maxTurns: 1, systemPrompt: "c" } satisfies Required<SubagentSpawnInput>,
    ],
    [
      registry.get("subagent_delegate"),
      { task: "a", description: "b", serverName: "c", agentId: "d" } satisfies Required<SubagentDelegateInput>,
    ],
    [waitTool, { subagent_ids: ["a"] } satisfies Required<SubagentWaitInput>],
    [cancelTool, { subagent_id: "a", mode: "stop" } satisfies Required<SubagentCancelInput>],
    [sendTool, { subagent_id: "a", message: "b" } satisfies Required<SubagentSendInput>],
    [reportTool, { subagent_id: "a", offset: 1 } satisfies Required<SubagentReportInput>],
  ];
  for (const [tool, input] of whole) {
    assert.ok(tool !== undefined);
    const schema = tool.inputSchema as StandardSchema<unknown>;
    const checked = await schema["~standard"].validate(input);
    assert.deepEqual(checked, { value: input }, tool.name);
    const none = await schema["~standard"].validate({ ...input, no_such_field: 1 });
    const [issue] = "issues" in none ? (none.issues ?? []) : [];
    const [, allowed = ""] = /Allowed: ([^.;]*)/.exec(issue?.message ?? "") ?? [];
    assert.deepEqual(allowed.split(", "), Object.keys(input), tool.name);
  }
  const named: NamedAgentInput = { task: "a" };
  assert.deepEqual(Object.keys(named), ["task"]);
});
