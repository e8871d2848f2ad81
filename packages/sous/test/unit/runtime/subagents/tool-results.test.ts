/** The results of the tools for children have exactly the fields that the table behind the reference page says. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { TOOL_RESULTS, type ToolResultFields } from "../../../../../../scripts/reference/subagent-results.ts";
import { agent } from "../../../../src/core/agent.ts";
import type { ToolResult } from "../../../../src/core/tool.ts";
import { after, calls, hangs, refuses, says } from "../../../../src/testing/steps.ts";
import { ALLOW, fakeClient, registryWith } from "../../../support/requirements/embedding.ts";
import { inParallel, runTree, type TreeTrial } from "../../../support/requirements/run-tree.ts";
import { type Stage, simpleTool } from "../../../support/requirements/support.ts";

type Returned = { toolName: string; result: ToolResult };

/** Every way each of the tools can answer. */
async function everyResult(): Promise<Returned[]> {
  const write = simpleTool("write", undefined, { tier: "confirm" });
  const client = fakeClient(async ({ task }) => (task === "Fail." ? Promise.reject(new Error("no")) : "Fixed."));
  const registry = registryWith({ client, model: "scripted/none" });
  const spawnOnly = registryWith({ client });
  const lastId = (messages: unknown) =>
    [...JSON.stringify(messages).matchAll(/subagent_id: (\w{26})/g)].at(-1)?.[1] ?? "";
  const { stage, returned } = await runTree({
    script: {
      lead: [
        calls("subagent", { label: "short", task_prompt: "Look." }),
        ({ messages }) => calls("subagent_report", { subagent_id: lastId(messages) }),
        ({ messages }) => calls("subagent_send", { subagent_id: lastId(messages), message: "Look again." }),
        calls("subagent_send", { subagent_id: "none", message: "Look again." }),
        calls("subagent", { label: "refusing", task_prompt: "Look." }),
        calls("subagent", { label: "poor", task_prompt: "Look.", allowed_tools: ["none"] }),
        calls("subagent", { label: "later", task_prompt: "Look.", background: true }),
        ({ messages }) => calls("subagent_send", { subagent_id: lastId(messages), message: "Hurry." }),
        calls("subagent_list"),
        calls("subagent_wait"),
        ({ messages }) => calls("subagent_cancel", { subagent_id: lastId(messages) }),
        calls("subagent_cancel", { subagent_id: "none" }),
        calls("subagent_report", { subagent_id: "none" }),
        inParallel([{ label: "short" }, { label: "refusing" }, { label: "poor", allowed_tools: ["none"] }], {
          max_concurrent: 8,
        }),
        calls("subagent_scout", { task: "Look." }),
        calls("subagent_writer", { task: "Write." }),
        calls("subagent_slow", { task: "Wait." }),
        calls("subagent_delegate", { task: "Fix.", description: "a fix" }),
        calls("subagent_delegate", { task: "Fail.", description: "a fix" }),
        TOOL_RESULTS.map(({ tool }) => calls(tool.replace("<name>", "scout"), { wrong: true })),
        says("Done."),
      ],
      "lead/later": [[after(1000), says("Later.")]],
      "lead/refusing*": [[says("No."), refuses()]],
      "lead/slow": [hangs()],
      "lead/writer": [calls("write"), says("Not written.")],
      "lead/**": [says("Short."), says("Again.")],
    },
    lead: {
      subagents: [
        agent({ name: "scout" }),
        agent({ name: "writer", tools: [write] }),
        agent({ name: "slow", timeoutMs: 10 }),
      ],
      tools: [...registry].filter(({ name }) => name === "subagent_delegate"),
    },
    runtime: {
      approve: ({ toolName }) => (toolName === "write" ? Promise.reject(new Error("no one")) : { allow: true }),
    },
  });
  const spawned = await runTree({
    script: {
      lead: [
        calls("subagent_spawn", { task: "Fix.", description: "a fix" }),
        calls("subagent_spawn", { task: "Fail.", description: "a fix" }),
        calls("subagent_spawn", { wrong: true }),
        says("Done."),
      ],
    },
    lead: { delegate: false, tools: [...spawnOnly] },
    runtime: ALLOW,
  });
  return [...resultsOf(stage, returned), ...resultsOf(spawned.stage, spawned.returned)];
}

/** A tool that throws, or is not run, has a failed result of which hooks know nothing. */
function resultsOf(stage: Stage, returned: TreeTrial["returned"]): Returned[] {
  const isKnown = (callId: string) => returned.some(({ call }) => call.callId === callId);
  const others = stage.eventsOf("tool-call-end", "lead").filter(({ callId }) => !isKnown(callId));
  return [
    ...returned.map(({ call: { toolName }, result }) => ({ toolName, result })),
    ...others.map(({ toolName, output: error, metadata }) => ({
      toolName,
      result: { success: false, output: "", error, metadata },
    })),
  ];
}

suite("the table of results", () => {
  test("I2, B7: every field of a result is in the table, and every field of the table is in a result", async () => {
    const results = await everyResult();
    const found = TOOL_RESULTS.map(({ tool, fields }) => {
      const own = results.filter(({ toolName }) => entryOf(toolName)?.tool === tool);
      const names = own.flatMap(({ result }) => namesIn(result, new Set(fields.map(({ name }) => name))));
      return { tool, names: [...new Set(names)].sort() };
    });
    const told = TOOL_RESULTS.map(({ tool, fields }) => ({ tool, names: fields.map(({ name }) => name).sort() }));
    assert.deepEqual(found, told);
  });

  test("each field has a type and one sentence or more", () => {
    for (const { tool, fields } of TOOL_RESULTS)
      for (const { name, type, about } of fields)
        assert.ok(type !== "" && about.endsWith("."), `${tool} ${name}: ${about}`);
  });
});

function entryOf(toolName: string): ToolResultFields | undefined {
  return (
    TOOL_RESULTS.find(({ tool }) => tool === toolName) ?? TOOL_RESULTS.find(({ tool }) => tool === "subagent_<name>")
  );
}

/** The paths of all values in it; what the table does not look into is one value. */
function namesIn(value: unknown, known: ReadonlySet<string>, path = ""): string[] {
  const isOpen = path === "" || [...known].some((name) => name.startsWith(`${path}.`) || name.startsWith(`${path}[]`));
  const own = known.has(path) ? [path] : [];
  if (!isOpen || typeof value !== "object" || value === null) return path === "" ? [] : [path];
  if (Array.isArray(value)) return [...own, ...value.flatMap((item) => namesIn(item, known, `${path}[]`))];
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return [...own, ...entries.flatMap(([key, item]) => namesIn(item, known, path === "" ? key : `${path}.${key}`))];
}
