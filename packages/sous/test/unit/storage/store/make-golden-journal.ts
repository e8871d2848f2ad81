/**
 * A tree in which everything happens that can, lived by the runtime: it wrote `test/golden/journal-1.json`. A fan-out is a tree of its own: `fan-out-1.json`, and so is one with an external agent: `outside-1.json`, a root in a trace: `traced-1.json`, one whose provider runs tools of its own: `provider-1.json`, one whose provider refused a schema: `shape-1.json`, one with a tool that asks by itself: `asked-1.json`, one that asks about a file: `target-2.json`, and one that needs all of its children: `required-2.json`. One that continues another is `continued-1.json`.
 *
 *   node --conditions=sous-source -p "import('./test/unit/storage/store/make-golden-journal.ts').then((made) => made.liveEverything())"
 *
 * A golden journal is never written again, by no test and no flag: it stands for the databases and files that people
 * have. Every version of the events (`EVENT_VERSION`) has a file of its own beside the old ones, which must work for ever.
 */

import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent } from "../../../../src/core/agent.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../../../src/core/approval.ts";
import { ApprovalNeeded, ModelError } from "../../../../src/core/errors.ts";
import type { SousEvent, StoredEvent } from "../../../../src/core/event.ts";
import { type ExternalAgent, externalModel } from "../../../../src/core/external-agent.ts";
import type { AssistantMessage, Message } from "../../../../src/core/message.ts";
import type { Model } from "../../../../src/core/model.ts";
import type { RunHandle } from "../../../../src/core/runtime.ts";
import { tool } from "../../../../src/core/tool.ts";
import { noUsage } from "../../../../src/core/usage.ts";
import { createRuntime } from "../../../../src/runtime.ts";
import { exportTree } from "../../../../src/storage/store/export/tree.ts";
import { importTree } from "../../../../src/storage/store/import/tree.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import {
  after,
  calls,
  fails,
  hangs,
  refuses,
  type Script,
  type Step,
  says,
  stopsAtLength,
  thinks,
  uses,
} from "../../../../src/testing/steps.ts";
import { createWorld, type World } from "../../../../src/testing/world.ts";
import { simpleTool } from "../../../support/requirements/support.ts";

const provider = { scripted: { signature: "c2lnbmVk" } };
const picture = {
  type: "file",
  mediaType: "image/png",
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  filename: "door.png",
  provider,
} as const;
const price = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 };
const taskOf = (text: string) => [{ type: "text", text, provider }, picture] as const;
const endsOddly: Step = { step: "finish", finish: "other" };
const spawn = (label: string, more: object = {}) =>
  calls("subagent", { label, task_prompt: `Look at ${label}.`, ...more });

const BEFORE: Script = { lead: [calls("look"), says("A wall.")] };

/** The first turn is cut off by a crash; the rest happens in the process that continues. */
const SCRIPT: Script = {
  lead: [
    [thinks("Hm."), says("I look."), calls("look"), uses({ input: 900, output: 40, cached: 500, cacheWrite: 100 })],
    [says("I go on "), stopsAtLength()],
    fails("overloaded", { message: "The provider is busy", retryAfterMs: 250 }),
    [after(130_000), calls("big"), calls("boom"), calls("write", { path: "a.md" }), calls("publish", { to: "all" })],
    [spawn("complete", { summary_prompt: "In one word." }), spawn("y", { allowed_tools: ["none"] })],
    spawn("cut"),
    spawn("turns", { max_turns: 1 }),
    spawn("consent"),
    spawn("refused"),
    spawn("failed"),
    spawn("timeout", { timeout_ms: 100 }),
    spawn("cancelled"),
    spawn("asks"),
    spawn("shape", { output_schema: { type: "object", required: ["hits"], properties: { hits: { type: "number" } } } }),
    calls("subagent_poor", { task: "Spend it." }),
    spawn("fork", { context: "fork", agent: "plain" }),
    ({ messages }) => calls("subagent_send", { subagent_id: idIn(messages, "Wall."), message: "And behind it?" }),
    spawn("stopped", { background: true }),
    ({ messages }) => calls("subagent_cancel", { subagent_id: idIn(messages, "stopped runs in the background") }),
    [spawn("slow", { background: true }), spawn("queued", { background: true })],
    ({ messages }) => [
      calls("subagent_cancel", { subagent_id: idIn(messages, "queued runs in the background") }),
      calls("subagent_send", { subagent_id: idIn(messages, "slow runs in the background"), message: "Is it open?" }),
    ],
    says(""),
    says("Done so far."),
    says("Done."),
    says("Nothing more."),
  ],
  "lead/complete": [[says("A wall."), endsOddly], says("Wall."), says("A garden."), says("Garden.")],
  "lead/cut": [says("x".repeat(3000)), says("y".repeat(2000))],
  "lead/turns": [[says("So far a wall."), calls("look")], says("A wall, and more to see.")],
  "lead/consent": [calls("ask_nobody"), says("Not written.")],
  "lead/refused": [[says("No."), refuses()]],
  "lead/failed": [fails(withStack(new ModelError("auth", "No such key")))],
  "lead/timeout": [hangs()],
  "lead/cancelled": [hangs()],
  "lead/asks": [calls("ask_slowly")],
  "lead/shape": [says("Three."), says('{"hits":3}')],
  "lead/poor": [[calls("look"), uses({ input: 2500, output: 100 })], says("It is spent.")],
  "lead/fork": [says("The same wall.")],
  "lead/stopped": [hangs()],
  "lead/slow": [[after(5000), calls("look")], says("A door.")],
};

const tools = [
  simpleTool("look", () => ({ success: true, output: "a wall", documents: [picture], metadata: { lines: 1 } })),
  simpleTool("big", () => "x".repeat(120_000)),
  simpleTool("boom", () => {
    throw withStack(new Error("The file is gone"));
  }),
  ...["write", "publish", "ask_nobody", "ask_slowly"].map((name) => simpleTool(name, undefined, { tier: "confirm" })),
];

/** The exported tree. It is the same text every time, as long as the runtime is the same. */
export async function liveEverything(): Promise<string> {
  const first = createWorld({ seed: 1, lateness: 0 });
  const store = openMemoryStore();
  const budget = { tokens: 2_000_000, costUsd: 50, durationMs: 36_000_000, executions: 50 };
  const limits = { maxConcurrent: 1, outputMaxSize: 1024, children: { ...budget, executions: 40 } };
  const conversation = { maxTokens: 30_000, minRetainTurns: 3, pruneThreshold: 0.6 };
  const shared = await store.sharedBudget("team", { tokens: 10_000_000 });
  const open = (world: World, script: Script) => ({
    runtime: createRuntime({ host: world.host, store, limits, approve: tiersOnly }),
    lead: leadOn(scriptedModel(script, { clock: world.clock, price, contextWindow: 200_000 })),
  });

  // A run that is left behind at its first turn, and the branch that becomes the tree.
  const before = open(first, BEFORE);
  const left = await first.run(() =>
    before.runtime.run(before.lead, taskOf("Look around."), { conversation, budget: { ...budget, from: shared } }),
  );
  const once = open(first, SCRIPT);
  let rootId = "";
  await first
    .run(() =>
      once.runtime.fork(left.runId, {
        agent: once.lead,
        message: taskOf("Look again."),
        budget: { ...budget, from: shared },
        onEvent: ({ runId }) => {
          rootId ||= runId;
        },
      }),
    )
    .catch(() => undefined);

  // The process dies while a tool is at work, and another one continues from the store.
  const kept = await store.read(rootId);
  const cut = kept.findIndex(({ type }) => type === "tool-call-start");
  const second = createWorld({ seed: 2, lateness: 0, startTime: Date.UTC(2026, 0, 1, 1) });
  const elsewhere = openMemoryStore();
  await importTree(elsewhere, fileOf(kept.slice(0, cut + 1)));
  const sharedElsewhere = await elsewhere.sharedBudget("team", { tokens: 10_000_000 });
  const model = scriptedModel(SCRIPT, { clock: second.clock, price, contextWindow: 200_000 });
  const runtime = createRuntime({ host: second.host, store: elsewhere, limits, approve: tiersOnly });
  const interruptions = interruptionsOf(() => handle);
  const handle: RunHandle = runtime.resume(rootId, {
    agent: leadOn(model),
    sharedBudget: sharedElsewhere,
    onEvent: interruptions,
  });
  await second.run(() => handle);
  await second.run(() => handle.followUp("And now?", { summarizes: true }));
  return exportTree(elsewhere, rootId, "json");
}

/** The exported tree of a fan-out from code. */
export async function liveFanOut(): Promise<string> {
  const world = createWorld({ seed: 3, lateness: 0 });
  const store = openMemoryStore();
  const worker = agent({
    name: "worker",
    model: scriptedModel({ "fan-out/*": [says("A wall.")] }, { clock: world.clock }),
  });
  const runtime = createRuntime({ host: world.host, store });
  await world.run(() => runtime.fanOut(worker, ["north", "south", "east"], { concurrency: 2 }));
  const [root] = await store.list({ rootsOnly: true });
  return exportTree(store, root?.id ?? "", "json");
}

/** The exported tree of an external agent, which acts by itself. */
export async function liveExternal(): Promise<string> {
  const world = createWorld({ seed: 4, lateness: 0 });
  const store = openMemoryStore();
  const external: ExternalAgent = {
    serverName: "Claude Code",
    maxCostUsd: 0.5,
    timeoutMs: 60_000,
    open: async (_request, host) => ({
      id: "session-1",
      async prompt() {
        const call = { callId: "t1", name: "Bash", kind: "execute", title: "npm test", input: { command: "npm test" } };
        host.onCall({ ...call, phase: "start" });
        host.onCall({ ...call, phase: "end", output: "3 failed", isError: true });
        host.onText("A wall.");
        const usage = { ...noUsage(), inputTokens: 900, outputTokens: 40, totalTokens: 940 };
        return { stop: "done", usage, costUsd: 0.02 };
      },
      close: async () => {},
    }),
  };
  const lead = agent({
    name: "lead",
    model: scriptedModel(
      { lead: [calls("subagent_claude", { task: "Look." }), says("Done.")] },
      { clock: world.clock },
    ),
    subagents: [agent({ name: "claude", model: externalModel(external) })],
  });
  const runtime = createRuntime({ host: world.host, store, approve: async () => ({ allow: true }) });
  await world.run(() => runtime.run(lead, "Go."));
  const [root] = await store.list({ rootsOnly: true });
  return exportTree(store, root?.id ?? "", "json");
}

/** The exported tree of a root that was started in a trace, and died while its child worked in the background. */
export async function liveTraced(): Promise<string> {
  const environment = { TRACEPARENT: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" };
  const tracedOn = (world: World) =>
    agent({
      name: "lead",
      delegate: true,
      model: scriptedModel(
        {
          lead: ({ messages }) => (messages.length === 1 ? spawn("slow", { background: true }) : says("Done.")),
          "lead/slow": ({ messages }) => (messages.length === 1 ? calls("look") : [after(5000), says("A wall.")]),
        },
        { clock: world.clock },
      ),
      tools: [simpleTool("look", () => "seen")],
    });
  const first = createWorld({ seed: 5, lateness: 0 });
  const store = openMemoryStore();
  const once = createRuntime({ host: { ...first.host, environment }, store });
  const { runId } = await first.run(() => once.run(tracedOn(first), "Go."));
  const kept = await store.read(runId);
  const cut = kept.findLastIndex(({ type, depth }) => type === "turn-start" && depth === 1);
  const second = createWorld({ seed: 6, lateness: 0, startTime: Date.UTC(2026, 0, 1, 1) });
  const elsewhere = openMemoryStore();
  await importTree(elsewhere, fileOf(kept.slice(0, cut + 1)));
  const again = createRuntime({ host: second.host, store: elsewhere });
  await second.run(() => again.resume(runId, { agent: tracedOn(second) }));
  return exportTree(elsewhere, runId, "json");
}

/** The exported tree of a run whose provider refused the schema of the output, and whose answer had to be repaired. */
export async function liveShape(): Promise<string> {
  const world = createWorld({ seed: 11, lateness: 0 });
  const store = openMemoryStore();
  const refused = new ModelError("output_schema", "scripted/model refused the request (HTTP 400)", {
    ...{ status: 400, retryAfterMs: 0 },
  });
  const lead = agent({
    name: "lead",
    model: scriptedModel({ lead: [fails(refused), says("Three."), says('{"hits":3}')] }, { clock: world.clock }),
    outputSchema: { type: "object", required: ["hits"], properties: { hits: { type: "number" } } },
  });
  const runtime = createRuntime({ host: world.host, store });
  const { runId } = await world.run(() => runtime.run(lead, "Count the walls."));
  return exportTree(store, runId, "json");
}

/** A tool that asks by itself, whatever rules allow. */
export async function liveAsked(): Promise<string> {
  const world = createWorld({ seed: 12, lateness: 0 });
  const store = openMemoryStore();
  let isAllowed = false;
  const build = tool({
    name: "build",
    description: "Builds.",
    inputSchema: { type: "object" },
    origin: { server: "yard", tool: "build", definition: "5b7a" },
    execute() {
      if (isAllowed) return "A wall.";
      throw new ApprovalNeeded("Its description has changed:\n- Builds.\n+ Builds walls.", () => {
        isAllowed = true;
      });
    },
  });
  const lead = agent({
    name: "lead",
    model: scriptedModel({ lead: [calls("build"), says("Built.")] }, { clock: world.clock }),
    tools: [build],
  });
  const runtime = createRuntime({ host: world.host, store, approve: () => ({ allow: true }) });
  const { runId } = await world.run(() => runtime.run(lead, "Build."));
  return exportTree(store, runId, "json");
}

/** The edit of a file, which a person is asked about. */
export async function liveTarget(): Promise<string> {
  const world = createWorld({ seed: 13, lateness: 0 });
  const store = openMemoryStore();
  const cwd = mkdtempSync(join(tmpdir(), "sous-target-"));
  try {
    writeFileSync(join(cwd, "door.md"), "A wall.");
    const edit = tool({
      name: "edit_file",
      description: "Edits.",
      tier: "confirm",
      inputSchema: { type: "object" },
      execute: () => "A door.",
    });
    const input = { path: "door.md", old: "wall", new: "door" };
    const script = { lead: [calls("edit_file", input), says("Open.")] };
    const lead = agent({ name: "lead", model: scriptedModel(script, { clock: world.clock }), tools: [edit] });
    const runtime = createRuntime({ host: { ...world.host, cwd }, store, approve: () => ({ allow: true }) });
    const { runId } = await world.run(() => runtime.run(lead, "Open it."));
    // The folder has another name on each machine.
    return (await exportTree(store, runId, "json")).replaceAll(realpathSync(cwd), "/work").replaceAll(cwd, "/work");
  } finally {
    rmSync(cwd, { recursive: true });
  }
}

/** A tree that needs all of its children, one of which its provider refuses. */
export async function liveRequired(): Promise<string> {
  const world = createWorld({ seed: 14, lateness: 0 });
  const store = openMemoryStore();
  const script = {
    lead: [calls("subagent", { label: "mason", task_prompt: "Build it." }), says("No wall.")],
    "lead/mason": [fails("rate_limit", { retryAfterMs: 3_600_000 })],
  };
  const lead = agent({ name: "lead", model: scriptedModel(script, { clock: world.clock }), delegate: true });
  const runtime = createRuntime({ host: world.host, store });
  const { runId } = await world.run(() => runtime.run(lead, "Build.", { requireAll: true }).result);
  return exportTree(store, runId, "json");
}

/** A branch of another tree, which one process made, and another sent a further message: it died between two attempts. */
export async function liveContinued(): Promise<string> {
  const leadIn = (world: World, ...first: Step[]) =>
    agent({
      name: "lead",
      model: scriptedModel(
        { lead: [...(first.length > 0 ? [first] : []), says("Done."), says("Done.")] },
        { clock: world.clock },
      ),
    });
  const first = createWorld({ seed: 7, lateness: 0 });
  const store = openMemoryStore();
  const once = createRuntime({ host: first.host, store });
  const { runId } = await first.run(() => once.run(leadIn(first), "Go."));
  const { runId: branchId } = await first.run(() => once.fork(runId, { agent: leadIn(first), message: "Or so?" }));
  const second = createWorld({ seed: 8, lateness: 0, startTime: Date.UTC(2026, 0, 1, 1) });
  const elsewhere = openMemoryStore();
  await importTree(elsewhere, fileOf(await store.read(branchId)));
  const again = createRuntime({ host: second.host, store: elsewhere });
  const cutOff = fails(new ModelError("interrupted", "The answer was cut off", { afterOutput: true }));
  const lead = leadIn(second, says("Do"), cutOff);
  await second.run(() => again.resume(branchId, { agent: lead, message: "And now?" }));
  const kept = await elsewhere.read(branchId);
  const third = createWorld({ seed: 9, lateness: 0, startTime: Date.UTC(2026, 0, 1, 2) });
  const last = openMemoryStore();
  await importTree(last, fileOf(kept.slice(0, kept.findIndex(({ type }) => type === "retry") + 1)));
  const onceMore = createRuntime({ host: third.host, store: last });
  await third.run(() => onceMore.resume(branchId, { agent: leadIn(third) }));
  return exportTree(last, branchId, "json");
}

function leadOn(model: Model) {
  return agent({
    name: "lead",
    nickname: "Ada",
    instructions: "Be brief.",
    notes: "You work in /srv/shop.",
    model: withMore(model),
    delegate: true,
    tools,
    deny: ["terminal"],
    subagents: [
      agent({ name: "poor", budget: { tokens: 9000, costUsd: 1, durationMs: 600_000, executions: 2 } }),
      agent({ name: "plain" }),
    ],
  });
}

/** The scripted model says nothing of providers and makes no files. */
function withMore(model: Model): Model {
  return {
    ...model,
    async answer(request, onDelta) {
      const answer = await model.answer(request, onDelta);
      if (request.caller.path !== "lead" || request.caller.turn !== 1) return answer;
      const content: AssistantMessage["content"] = answer.message.content.map((part) => ({ ...part, provider }));
      return { ...answer, message: { role: "assistant", content: [picture, ...content] } };
    },
  };
}

/** What people do meanwhile: one says a word, and one stops two of the children. */
function interruptionsOf(handle: () => RunHandle): (event: SousEvent) => void {
  let hasSpoken = false;
  return (event) => {
    if (event.type === "text-delta" && !hasSpoken) {
      hasSpoken = true;
      handle().steer("lead", "Look closely.");
    }
    if (event.type === "turn-start" && event.path === "lead/cancelled") handle().cancel("lead/cancelled");
    if (event.type === "approval-request" && event.path === "lead/asks") handle().cancel("lead/asks");
  };
}

async function approve({ toolName }: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
  if (toolName === "write") return { allow: true };
  if (toolName === "publish") return { allow: false, reason: "Not today." };
  if (toolName === "ask_nobody") throw new Error("the line is dead");
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

/** Rules that leave every call to the tier of its tool. */
const tiersOnly = { decide: () => undefined, ask: approve };

/** The same on every machine. */
function withStack<Fault extends Error>(error: Fault): Fault {
  error.stack = `${error.name}: ${error.message}\n    at golden (journal.ts:1:1)`;
  return error;
}

/** The id of the child whose result holds these words. */
function idIn(messages: readonly Message[], words: string): string {
  const outputs = messages.flatMap(({ content }) => content.map((part) => ("output" in part ? part.output : "")));
  return /subagent_id: (\w{26})/.exec(outputs.findLast((output) => output.includes(words)) ?? "")?.[1] ?? "";
}

function fileOf(events: readonly StoredEvent[]): unknown {
  return JSON.parse(JSON.stringify({ format: "sous-tree", version: 1, events }));
}

/** The exported tree of a root whose provider searches by itself, pauses, and continues. */
export async function liveProvider(): Promise<string> {
  const world = createWorld({ seed: 10, lateness: 0 });
  const store = openMemoryStore();
  const there = { type: "provider", from: "scripted", callId: "ws_1", toolName: "web_search", provider } as const;
  const usage = { ...noUsage(), inputTokens: 900, outputTokens: 40, totalTokens: 940 };
  const search: AssistantMessage["content"] = [
    { type: "text", text: "I search." },
    { ...there, kind: "call", value: { query: "walls" } },
    { ...there, kind: "result", value: [{ url: "https://example.org/walls" }], isError: true },
    { ...there, kind: "note", value: { sources: [{ url: "https://example.org/walls" }] } },
  ];
  const searching: Step = {
    step: "answer",
    answer: {
      message: { role: "assistant", content: search },
      finish: "paused",
      usage,
      providerCalls: { "scripted.web_search": 1 },
    },
  };
  const webSearch = {
    type: "provider",
    id: "scripted.web_search",
    args: {},
    inputSchema: {},
    isProviderExecuted: true,
  };
  const lead = agent({
    name: "lead",
    model: scriptedModel({ lead: [searching, says("A wall.")] }, { clock: world.clock }),
    tools: { web_search: webSearch },
  });
  const prices = { "scripted/model": { ...price, calls: { "scripted.web_search": 0.01 } } };
  const runtime = createRuntime({ host: world.host, store, models: { prices } });
  const { runId } = await world.run(() => runtime.run(lead, "Find walls."));
  return exportTree(store, runId, "json");
}
