import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import type { SousEvent } from "../../../../../src/core/event.ts";
import type { RuntimeOptions } from "../../../../../src/core/runtime.ts";
import { runtimeOn } from "../../../../../src/runtime.ts";
import { storeEngine } from "../../../../../src/runtime/tree/placing/store-engine.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import { calls, says, type Script } from "../../../../../src/testing/steps.ts";

const MODEL = "scripted/one";
const scout = agent({ name: "scout", description: "Looks.", model: MODEL, instructions: "Look.", tools: [], place: "worker" });
const lead = agent({ name: "lead", model: MODEL, tools: [], subagents: [scout] });

/** A runtime and workers on one store, each with its own script. */
function setUp(script: Script, options: Partial<RuntimeOptions> = {}) {
  const store = openMemoryStore();
  const models = () => scriptedModel(script);
  const shared = { store, engine: storeEngine(store), agents: [scout, lead], ...options };
  return { store, root: runtimeOn(models, shared), worker: runtimeOn(models, shared) };
}

suite("a placed child", () => {
  test("is continued by a worker, and its parent gets its report", async () => {
    const { store, root, worker } = setUp({
      lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
      "lead/scout": [says("A wall.")],
    });
    await using _worker = await worker.work({ name: "one" });
    const events: SousEvent[] = [];
    const result = await root.run(lead, "Go.", { onEvent: (event) => events.push(event) });
    assert.equal(result.text, "Seen.");
    assert.deepEqual(
      result.agents.map(({ path, status, turns }) => [path, status, turns]),
      [
        ["lead", "completed", 2],
        ["lead/scout", "completed", 1],
      ],
    );
    const records = await store.tree(result.runId);
    assert.deepEqual(
      records.map(({ path, rootId, journalId, id, status }) => [path, rootId === result.runId, journalId === id, status]),
      [
        ["lead", true, true, "completed"],
        ["lead/scout", true, true, "completed"],
      ],
    );
    const [, child] = records;
    const types = (await store.read(child?.id ?? "")).map(({ type }) => type);
    assert.deepEqual(types, ["run-start", "resume", "turn-start", "message-end", "run-end"]);
    assert.deepEqual(
      events.filter((event) => "journalId" in event).map(({ type }) => type),
      types,
    );
  });
});
