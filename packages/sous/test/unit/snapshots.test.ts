/** Texts that models read and events that others fold over are a promise: a change of a word changes a snapshot. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { eventTypes } from "../../../../scripts/reference/events-page.ts";
import { readOnlyTools } from "../../src/app/tools/read-only.ts";
import { agent } from "../../src/core/agent.ts";
import type { RunIdentity, SousEvent, StoredEvent } from "../../src/core/event.ts";
import { SUMMARY_HEAD } from "../../src/core/read-history.ts";
import { type Tool, ToolRegistry } from "../../src/core/tool.ts";
import { NOTICES } from "../../src/runtime/loop/inbox.ts";
import { outputInstructions } from "../../src/runtime/loop/parse-output.ts";
import { compileSchema } from "../../src/runtime/schema/compile.ts";
import { cancelTool, listTool, reportTool, sendTool, waitTool } from "../../src/runtime/subagents/child-tools.ts";
import { subagentTool } from "../../src/runtime/subagents/delegation-tools.ts";
import { namedAgentTool } from "../../src/runtime/subagents/named-agent.ts";
import { parallelTool } from "../../src/runtime/subagents/parallel.ts";
import { CHILD_INSTRUCTIONS, DESCRIPTIONS, describeNamedAgent } from "../../src/runtime/subagents/prompts.ts";
import { registerSubagentTools } from "../../src/runtime.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { after, calls, fails, hangs, refuses, says, stopsAtLength, thinks, uses } from "../../src/testing/steps.ts";
import { assertGolden } from "../support/app/cli/golden.ts";
import { ALLOW, fakeClient, registryWith } from "../support/requirements/embedding.ts";
import { openStage, type Stage, simpleTool } from "../support/requirements/support.ts";
import { openTown } from "../support/runtime/tree/restore/parking.ts";
import { lead, setUp } from "./runtime/tree/placing/set-up.ts";
import { liveEverything } from "./storage/store/make-golden-journal.ts";

const folder = join(import.meta.dirname, "../snapshots");
const spawn = (label: string, more: object = {}) =>
  calls("subagent", { label, task_prompt: `Look at ${label}.`, ...more });

test("the texts that models read are as promised; UPDATE_SNAPSHOTS=1 updates it", async () => {
  const schema = await compileSchema({ type: "object", properties: { hits: { type: "number" } } });
  const sections = [
    ...Object.entries(DESCRIPTIONS).map(([name, text]) => section(`description of ${name}`, text)),
    section("description of a specialist without one", describeNamedAgent("scout")),
    section("instructions of a child without any", CHILD_INSTRUCTIONS),
    section("instructions for structured output", outputInstructions(schema)),
    section("before the summary of a conversation", SUMMARY_HEAD),
    ...Object.entries(NOTICES).map(([reason, text]) => section(`notice: ${reason}`, text)),
    ...(await wordsOfReports()),
  ];
  assertGolden("model-text.txt", sections, folder);
});

test("the schemas of what models may send are as promised; UPDATE_SNAPSHOTS=1 updates it", async () => {
  const tools = await Promise.all(
    allTools().map(async ({ name, description, category, tier, effect, inputSchema }) => {
      const { jsonSchema } = await compileSchema(inputSchema);
      return { name, description, category, tier, effect, inputSchema: jsonSchema };
    }),
  );
  assertGolden("tool-schemas.json", [JSON.stringify(tools, undefined, 2)], folder);
});

const HEAD: Readonly<Record<keyof RunIdentity | "type" | "seq" | "time", "required">> = {
  runId: "required",
  agentId: "required",
  parentId: "required",
  path: "required",
  depth: "required",
  type: "required",
  seq: "required",
  time: "required",
};
const { stored, deltas } = eventTypes();
const STORED = fieldsByType(stored);
/** Deltas have no `seq`. */
const DELTAS = fieldsByType(deltas);

function fieldsByType(types: typeof stored): Record<string, Record<string, string>> {
  const fieldsOf = ({ fields }: (typeof types)[number]) =>
    fields
      .filter(({ name }) => name !== "type")
      .map(({ name }) => (name.endsWith("?") ? [name.slice(0, -1), "optional"] : [name, "required"]));
  return Object.fromEntries(types.map((type) => [type.name, Object.fromEntries(fieldsOf(type))]));
}

test("the fields of events are as they were promised; UPDATE_SNAPSHOTS=1 updates it", () => {
  assertGolden("events.json", [JSON.stringify({ head: HEAD, stored: STORED, deltas: DELTAS }, undefined, 2)], folder);
});

test("events have the fields that were promised, and no others", async () => {
  const stage = await eventfulTree();
  const described = { ...STORED, ...DELTAS };
  const seen = new Set<string>();
  const others = [
    ...(await crowdedTree()).events,
    ...(await externalTree()).events,
    ...(await parkedEvents()),
    ...(await limitedEvents()),
    ...(await placedEvents()),
  ];
  for (const { type, ...event } of [...stage.events, ...others]) {
    seen.add(type);
    const own = described[type] ?? {};
    const required = Object.keys(own).filter((field) => own[field] === "required");
    const head = Object.keys(HEAD).filter((field) => field !== "type" && (field !== "seq" || type in STORED));
    const found = Object.keys(event);
    assert.deepEqual(
      found.filter((field) => !head.includes(field) && !(field in own)),
      [],
      `${type} has fields nobody was told of`,
    );
    assert.deepEqual(
      [...head, ...required].filter((field) => !found.includes(field)),
      [],
      `${type} lacks fields`,
    );
    assert.deepEqual(JSON.parse(JSON.stringify(event)), withoutUndefined(event), `${type} is plain data`);
  }
  // Only a tree that was interrupted is resumed.
  for (const { type } of JSON.parse(await liveEverything()).events) seen.add(type);
  const unseen = Object.keys(described).filter((type) => !seen.has(type));
  assert.deepEqual(unseen, [], "the trees show every type");
});

/** A child on a worker, with the events of its own journal. */
async function placedEvents(): Promise<readonly StoredEvent[]> {
  const { root, another, store } = setUp({
    lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
    "lead/scout": [calls("subagent_deep", { task: "Dig." }), says("A wall.")],
    "lead/scout/deep": [says("Sand.")],
  });
  await using _worker = await another().work();
  const { runId } = await root.run(lead, "Go.");
  const journals = new Set((await store.tree(runId)).map(({ journalId }) => journalId));
  return (await Promise.all([...journals].map((journalId) => store.read(journalId)))).flat();
}

/** A question whose answer comes later. */
async function parkedEvents(): Promise<readonly SousEvent[]> {
  const { events } = await openTown({ script: { lead: [calls("pay")] } })
    .process()
    .run();
  return events;
}

/** A model that asks to wait for two seconds. */
async function limitedEvents(): Promise<readonly SousEvent[]> {
  const stage = openStage({
    lead: [
      calls("parallel_subagent", { tasks: ["a", "b"].map((label) => ({ label, task_prompt: `Look at ${label}.` })) }),
      says("Done."),
    ],
    "lead/a": [fails("rate_limit", { retryAfterMs: 2000 }), says("Seen.")],
    "lead/b": [[after(10), calls("subagent_list", {})], says("Seen.")],
  });
  await stage.run(stage.lead(), "Look.");
  return stage.events;
}

/** Two children, and a budget that pays for the first call of one. */
async function crowdedTree(): Promise<ReturnType<typeof openStage>> {
  const task = (label: string) => ({ label, task_prompt: `Look at ${label}.` });
  const stage = openStage({
    lead: [calls("parallel_subagent", { tasks: [task("a"), task("b")] }), says("Done.")],
    "lead/*": [[after(10), says("Seen.")]],
  });
  await stage.run(stage.lead(), "Look.", { budget: { tokens: 11_000 } });
  return stage;
}

/** One child that is an external agent. */
async function externalTree(): Promise<ReturnType<typeof openStage>> {
  const client = fakeClient(async (_prompt, { host }) => {
    const call = { callId: "1", name: "Edit", kind: "edit", title: "a.ts", input: { path: "a.ts" } };
    host.onCall({ ...call, phase: "start" });
    host.onCall({ ...call, phase: "end", output: "done" });
    return "Fixed.";
  });
  const stage = openStage(
    { lead: [calls("subagent_delegate", { task: "Fix it.", description: "a fix" }), says("Done.")] },
    { runtime: ALLOW },
  );
  await stage.run(stage.lead({ tools: [...registryWith({ client })] }), "Look.");
  return stage;
}

function section(title: string, text: string): string {
  return `# ${title}\n\n${text}\n`;
}

function allTools(): Tool[] {
  const registry = new ToolRegistry();
  registerSubagentTools(registry, {
    model: scriptedModel(),
    client: {
      serverNames: [],
      externalAgent: () => assert.fail("never"),
    },
  });
  return [
    subagentTool,
    parallelTool({ maxConcurrent: 5, now: () => 0 }),
    sendTool,
    reportTool,
    waitTool,
    cancelTool,
    listTool,
    namedAgentTool(agent({ name: "scout" })),
    ...[...registry].filter((each) => each !== reportTool),
    ...readOnlyTools(),
  ];
}

/** Every way a child's ending is told to its parent, as the parent reads it. */
async function wordsOfReports(): Promise<string[]> {
  const stage = openStage(
    {
      lead: [
        spawn("complete"),
        spawn("cut"),
        spawn("turns", { max_turns: 1 }),
        spawn("consent"),
        spawn("refused"),
        spawn("failed"),
        spawn("timeout", { timeout_ms: 100 }),
        spawn("background", { background: true }),
        ({ messages }) => calls("subagent_send", { subagent_id: lastId(messages), message: "Hurry." }),
        calls("subagent_wait"),
        calls("subagent_list"),
        spawn("later", { background: true }),
        says("I wait."),
        says("Done."),
      ],
      "lead/complete": [says("A wall.")],
      "lead/cut": [says("x".repeat(2000))],
      "lead/turns": [[says("So far a wall."), calls("look")]],
      "lead/consent": [calls("write"), says("Not written.")],
      "lead/refused": [[says("No."), refuses()]],
      "lead/failed": [fails("auth", { message: "No such key" })],
      "lead/timeout": [hangs()],
      "lead/*": [[after(1000), calls("look")], says("A door.")],
    },
    { runtime: { limits: { summary: "never", outputMaxSize: 1024 } } },
  );
  await stage.run(stage.lead({ tools: [simpleTool("look"), simpleTool("write", undefined, { tier: "confirm" })] }));
  const { messages = [] } = stage.requestsOf("lead").at(-1) ?? {};
  return messages.slice(1).flatMap((message) => {
    if (message.role === "tool")
      return message.content.map(({ toolName, output }) => section(`result of ${toolName}`, withoutIds(output)));
    if (message.role === "user")
      return message.content.map((part) => section("message", withoutIds("text" in part ? part.text : "")));
    return [];
  });
}

function withoutIds(text: string): string {
  return text.replaceAll(/\b01\w{24}\b/g, "01XXXXXXXXXXXXXXXXXXXXXXXX").replaceAll(/x{9,}/g, "xxx…");
}

function lastId(messages: unknown): string {
  return [...JSON.stringify(messages).matchAll(/subagent_id: (\w{26})/g)].at(-1)?.[1] ?? "";
}

/** A tree in which everything happens that can. */
async function eventfulTree(): Promise<Stage> {
  const stage = openStage({
    lead: [
      [thinks("Hm."), says("I look."), calls("look")],
      [says("I go on "), stopsAtLength()],
      fails("overloaded"),
      [
        after(130_000),
        calls("big"),
        calls("write"),
        spawn("x", { background: true }),
        spawn("y", { allowed_tools: ["none"] }),
      ],
      [calls("look"), calls("subagent_poor", { task: "Spend it." })],
      says("Done so far."),
      says("Done."),
    ],
    "lead/x": [says("Seen.")],
    "lead/poor": [[calls("look"), uses({ input: 2500, output: 100 })], says("It is spent.")],
  });
  const poor = agent({ name: "poor", budget: { tokens: 3000 } });
  const tools = [
    simpleTool("look"),
    simpleTool("big", (_, { progress }) => {
      progress("writes", 1, 2);
      return "x".repeat(200_000);
    }),
    simpleTool("write", undefined, { tier: "confirm" }),
  ];
  const handle = stage.start(stage.lead({ tools, subagents: [poor] }), "Look around.", {
    conversation: { maxTokens: 4000, minRetainTurns: 1, pruneThreshold: 0.5 },
  });
  stage.when(
    ({ type }) => type === "text-delta",
    () => handle.steer("lead", "Look closely."),
  );
  await stage.end(handle);
  return stage;
}

/** As JSON would have it, but made without it: what is no plain data stays what it is and is found. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutUndefined(item)]));
}
