/** B9.2: workers whose definitions allow more than the gate recorded. Judged by what ran, what was asked, and what was offered. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type AgentDefinition, agent } from "../../../src/core/agent.ts";
import type { RuntimeOptions } from "../../../src/core/runtime.ts";
import { tool } from "../../../src/core/tool.ts";
import { storeEngine } from "../../../src/runtime/tree/placing/store-engine.ts";
import { runtimeOn } from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { calls, says } from "../../../src/testing/steps.ts";

const ran: string[] = [];
const make = (name: string, tier: "observe" | "confirm" = "observe") =>
  tool({ name, description: "Does.", tier, inputSchema: { type: "object" }, execute: () => `${ran.push(name)}` });

const look = make("look");
const boom = make("boom");
const touch = make("touch", "confirm");
const model = "scripted/one";
const shared = { name: "scout", description: "Looks.", model, place: "worker" as const };
const helper = agent({ name: "helper", description: "Helps.", model, tools: [boom] });
const narrow = agent({ ...shared, tools: [look], instructions: "Only look.", maxTurns: 6 });

/** What the child tries, whatever it was offered. */
const TRIES = [
  calls("boom"),
  calls("subagent", { label: "x", task_prompt: "y" }),
  calls("subagent_helper", { task: "z" }),
  calls("touch"),
  calls("look"),
  says("A wall."),
];

type Attempt = {
  /** The definition of the process that places it. */
  readonly gate?: AgentDefinition;
  /** That of the worker. */
  readonly worker: AgentDefinition;
  readonly atGate?: Partial<RuntimeOptions>;
  readonly atWorker?: Partial<RuntimeOptions>;
};

async function attempt({ gate = narrow, worker, atGate = {}, atWorker = {} }: Attempt) {
  ran.length = 0;
  const store = openMemoryStore();
  const lead = agent({ name: "lead", model, tools: [], subagents: [gate] });
  const other = agent({ name: "lead", model, tools: [], subagents: [worker] });
  const script = {
    lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
    "lead/scout": TRIES,
    "**": [calls("boom"), says("Done.")],
  };
  const scripted = scriptedModel(script, { id: model });
  const chosen: string[] = [];
  const placing = { store, engine: storeEngine(store) };
  const root = runtimeOn(() => scripted, { ...placing, agents: [gate, lead], ...atGate });
  const runtime = runtimeOn(
    (choice) => {
      chosen.push(String(choice));
      return scripted;
    },
    { ...placing, agents: [worker, other, helper], ...atWorker },
  );
  await using _worker = await runtime.work({ name: "wide" });
  const result = await root.run(lead, "Go.");
  const records = await store.tree(result.runId);
  return {
    ran: [...ran],
    paths: records.map(({ path }) => path),
    child: records.find(({ path }) => path === "lead/scout"),
    chosen,
    asked: scripted.requests.filter(({ path }) => path === "lead/scout"),
  };
}

suite("B9.2: a worker with a wider definition", () => {
  const wider: [what: string, changes: Parameters<typeof narrow.with>[0]][] = [
    ["one more tool", { tools: [look, boom] }],
    ["a tool that asks", { tools: [look, touch] }],
    ["delegate", { delegate: true, tools: [look, boom] }],
    ["an agent that it may call", { subagents: [helper], tools: [look, boom] }],
    ["all of it", { delegate: true, subagents: [helper], tools: [look, boom, touch] }],
  ];
  for (const [what, changes] of wider) {
    test(`gives the run no more: ${what}`, async () => {
      const tried = await attempt({ worker: narrow.with(changes), atWorker: { approve: () => ({ allow: true }) } });
      assert.deepEqual([tried.ran, tried.paths], [["look"], ["lead", "lead/scout"]]);
      for (const { tools } of tried.asked) assert.deepEqual(tools, ["look"]);
    });
  }

  test("denies what the gate had denied", async () => {
    const gate = agent({ ...shared, tools: [look, boom], deny: ["boom"], maxTurns: 6 });
    const tried = await attempt({ gate, worker: gate.with({ deny: [] }) });
    assert.deepEqual(tried.ran, ["look"]);
  });

  test("asks the model that the gate recorded", async () => {
    const tried = await attempt({ worker: narrow.with({ model: "scripted/dear" }) });
    assert.deepEqual([[...new Set(tried.chosen)], tried.child?.model], [["scripted/one"], "scripted/one"]);
  });

  test("gives it no more turns", async () => {
    const tried = await attempt({ gate: narrow.with({ maxTurns: 2 }), worker: narrow.with({ maxTurns: 50 }) });
    // The last request is for a summary, and offers no tools.
    assert.deepEqual([tried.child?.turns, tried.child?.maxTurnsReached], [2, true]);
    assert.deepEqual(
      tried.asked.map(({ mayCallTools }) => mayCallTools),
      [true, true, false],
    );
  });

  test("gives it no other instructions", async () => {
    const tried = await attempt({ worker: narrow.with({ instructions: "Do what you like." }) });
    for (const { instructions = "" } of tried.asked) {
      assert.match(instructions, /Only look\./);
      assert.doesNotMatch(instructions, /what you like/);
    }
  });

  test("gives it no more time", async () => {
    const gate = narrow.with({ timeoutMs: 60_000 });
    const tried = await attempt({ gate, worker: narrow.with({ timeoutMs: 3_600_000 }) });
    assert.equal(tried.child?.status, "completed");
    assert.deepEqual(tried.ran, ["look"]);
  });
});

suite("B9.2: a worker with a looser policy", () => {
  const gate = agent({ ...shared, tools: [look, touch], maxTurns: 6 });

  test("has its own person say yes: the one at the root is asked, who says no", async () => {
    const questions: string[] = [];
    const tried = await attempt({
      gate,
      worker: gate,
      atGate: {
        approve: async ({ toolName }) => {
          questions.push(toolName);
          return { allow: false, reason: "No." };
        },
      },
      atWorker: { approve: () => ({ allow: true }) },
    });
    assert.deepEqual([questions, tried.ran], [["touch"], ["look"]]);
  });

  test("has its own person say yes, where no one is at the root: nothing is allowed", async () => {
    const tried = await attempt({ gate, worker: gate, atWorker: { approve: () => ({ allow: true }) } });
    assert.deepEqual(tried.ran, ["look"]);
  });

  test("has no policy at all: nothing is allowed", async () => {
    const tried = await attempt({ gate, worker: gate });
    assert.deepEqual(tried.ran, ["look"]);
  });

  test("has rules whose person says yes: the one at the root is asked, who says no", async () => {
    const tried = await attempt({
      gate,
      worker: gate,
      atGate: { approve: () => ({ allow: false, reason: "No." }) },
      atWorker: { approve: { decide: () => undefined, ask: () => ({ allow: true }) } },
    });
    assert.deepEqual(tried.ran, ["look"]);
  });
});
