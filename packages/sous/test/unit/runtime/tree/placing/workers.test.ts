import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import { UserError } from "../../../../../src/core/errors.ts";
import { tool } from "../../../../../src/core/tool.ts";
import { systemClock } from "../../../../../src/machine/host.ts";
import { storeEngine } from "../../../../../src/runtime/tree/placing/store-engine.ts";
import type { WorkerNews } from "../../../../../src/runtime/tree/placing/worker.ts";
import { runtimeOn } from "../../../../../src/runtime.ts";
import { openMemoryStore } from "../../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../../src/testing/scripted-model.ts";
import { after, calls, says } from "../../../../../src/testing/steps.ts";
import { endOf, eventsOf, lead, scout, setUp } from "./set-up.ts";

suite("a worker", () => {
  test("lists its folder, and takes what was placed in it", async () => {
    const { root, another, store } = setUp({ lead: [says("Seen.")] }, { host: { cwd: "/srv/here" } });
    await using _elsewhere = await another().work({ name: "one", folder: "/srv/there" });
    const submitted = await root.submit(lead, "Go.");
    await using _here = await another().work({ name: "two", folder: "/srv/here" });
    assert.equal((await submitted.result).status, "completed");
    const resumed = (await eventsOf(store, submitted.id, "lead")).find(({ type }) => type === "resume");
    assert.equal(resumed?.type === "resume" && resumed.worker, "two");
    assert.deepEqual(
      (await store.placing.workers()).map(({ name, folder }) => [name, folder]),
      [
        ["one", "/srv/there"],
        ["two", "/srv/here"],
      ],
    );
  });

  test("knows agents that are roots and nothing else: it takes them, and no call finds them", async () => {
    const store = openMemoryStore();
    const models = () =>
      scriptedModel({ chief: [calls("subagent", { agent: "chief", task_prompt: "Go." }), says("Alone.")] });
    const chief = agent({ name: "chief", model: "scripted/one", tools: [], delegate: true });
    const make = () =>
      runtimeOn(
        models,
        { store, engine: storeEngine(store) },
        {
          roots: { names: ["chief"], definitionOf: () => chief },
        },
      );
    await using worker = await make().work({ name: "one" });
    assert.equal(worker.name, "one");
    const submitted = await make().submit(chief, "Go.");
    const result = await submitted.result;
    assert.deepEqual([result.text, result.agents.length], ["Alone.", 1]);
  });

  test("that cannot begin a run gives it back, and the fifth time the run ends with the reason", async () => {
    const store = openMemoryStore();
    const lacking = () => {
      throw new UserError("No key for scripted/one");
    };
    // Its pauses are over at once.
    const timer: typeof systemClock.timer = (milliseconds, callback, isQuiet) =>
      systemClock.timer(milliseconds === 1_000 ? 0 : milliseconds, callback, isQuiet);
    const host = { clock: { ...systemClock, timer } };
    const shared = { host, store, engine: storeEngine(store), agents: [lead, scout] };
    const news: WorkerNews[] = [];
    const submitted = await runtimeOn(() => scriptedModel({}), shared).submit(lead, "Go.");
    await using _worker = await runtimeOn(lacking, shared).work({
      name: "poor",
      onRun: (each) => void news.push(each),
    });
    const result = await submitted.result;
    assert.deepEqual(
      [result.status, result.error?.message],
      ["failed", "The worker poor could not begin this run: No key for scripted/one"],
    );
    assert.ok(news.length > 1 && news.every(({ runId }) => runId === submitted.id));
    assert.ok(news.some(({ state, error }) => state === "left" && error instanceof UserError));
  });

  test("with one place continues a run and the children that this run waits for", async () => {
    const { root, another } = setUp({
      lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
      "lead/scout": [calls("subagent_deep", { task: "Dig." }), says("A wall.")],
      "lead/scout/deep": [says("Sand.")],
    });
    await using _worker = await another().work({ name: "one", places: 1 });
    const submitted = await root.submit(lead, "Go.");
    assert.equal((await submitted.result).text, "Seen.");
  });

  test("says in the journal how often a run was taken", async () => {
    let isFirst = true;
    const asked = Promise.withResolvers<void>();
    const { root, another, store } = setUp({
      lead: () => {
        if (!isFirst) return says("Seen.");
        isFirst = false;
        asked.resolve();
        return [after(60_000), says("Late.")];
      },
    });
    const first = await another().work({ name: "one" });
    const submitted = await root.submit(lead, "Go.");
    await asked.promise;
    await first.stop();
    await using _second = await another().work({ name: "two" });
    await submitted.result;
    const taken = (await eventsOf(store, submitted.id, "lead")).flatMap((event) =>
      event.type === "resume" ? [[event.worker, event.attempt]] : [],
    );
    assert.deepEqual(taken, [
      ["one", 1],
      ["two", 2],
    ]);
  });
});

test("with all children on workers, one that cannot travel stays with its parent", async () => {
  const look = tool({
    name: "look",
    description: "Looks.",
    category: "read",
    inputSchema: { type: "object" },
    execute: () => "",
  });
  const own = scout.with({ place: undefined, tools: [look], subagents: [] });
  const asking = lead.with({ subagents: [own] });
  const { root, store } = setUp(
    { lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")], "lead/scout": [says("A wall.")] },
    { agents: [own, asking], limits: { place: "children" } },
  );
  const { runId, text } = await root.run(asking, "Go.");
  assert.equal(text, "Seen.");
  assert.deepEqual([...new Set((await store.tree(runId)).map(({ journalId }) => journalId))], [runId]);
  assert.equal(endOf(await eventsOf(store, runId, "lead/scout"))?.status, "completed");
});
