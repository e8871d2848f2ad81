import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { tool } from "../../../../../src/core/tool.ts";
import { storeEngine } from "../../../../../src/runtime/tree/placing/store-engine.ts";
import { runtimeOn } from "../../../../../src/runtime.ts";
import { after, calls, hangs, says } from "../../../../../src/testing/steps.ts";
import { changed } from "./changed.ts";
import { endOf, eventsOf, lead, scout, setUp } from "./set-up.ts";

suite("a worker that stops", () => {
  test("gives its runs back without an end, and another worker continues them", async () => {
    let isFirst = true;
    const { root, another, store, asked } = setUp({
      lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
      "lead/scout": () => {
        if (!isFirst) return says("A wall.");
        isFirst = false;
        return hangs();
      },
    });
    const first = await another().work({ name: "one" });
    const began = Promise.withResolvers<void>();
    const running = root.run(lead, "Go.", {
      onEvent: (event) => void (event.type === "turn-start" && event.path === "lead/scout" && began.resolve()),
    });
    await began.promise;
    await first.stop();
    await using _second = await another().work({ name: "two" });
    const { runId, status } = await running;
    const child = await eventsOf(store, runId, "lead/scout");
    assert.equal(status, "completed");
    assert.deepEqual(
      child.flatMap((event) => (event.type === "resume" ? [event.worker] : [])),
      ["one", "two"],
    );
    assert.deepEqual([endOf(child)?.status, child.some(({ type }) => type === "cancel")], ["completed", false]);
    assert.equal(asked.get("lead/scout"), 2);
  });

  test("gives back at once what waits for a child on another worker, and the child is not stopped", {
    timeout: 10_000,
  }, async () => {
    const answer = Promise.withResolvers<void>();
    const execute = () => answer.promise.then(() => "Done.");
    const look = tool({ name: "look", description: "Looks.", inputSchema: { type: "object" }, execute });
    const slow = scout.with({ tools: [look], subagents: [] });
    const { root, another, store, asked, models } = setUp(
      {
        lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
        "lead/scout": [calls("look"), says("A wall.")],
      },
      { agents: [slow, lead.with({ subagents: [slow] })] },
    );
    const asking = lead.with({ subagents: [slow] });
    // It knows the root alone: a run that waits for others takes no place, and it would take the child, too.
    const first = await runtimeOn(models, { store, engine: storeEngine(store), agents: [asking] }).work({
      name: "one",
    });
    const submitted = await root.submit(asking, "Go.");
    const scouts = runtimeOn(models, { store, engine: storeEngine(store), agents: [slow] });
    const isTaken = Promise.withResolvers<void>();
    await using _scouts = await scouts.work({ name: "two", onRun: () => isTaken.resolve() });
    await isTaken.promise;
    await first.stop();
    assert.equal(first.running, 0);
    await using _third = await another().work({ name: "three" });
    answer.resolve();
    const { status, text, runId } = await submitted.result;
    assert.deepEqual([status, text, asked.get("lead/scout")], ["completed", "Seen.", 2]);
    const own = await eventsOf(store, runId, "lead");
    assert.deepEqual(
      own.flatMap((event) => (event.type === "resume" ? [event.worker] : [])),
      ["one", "three"],
    );
    assert.deepEqual(
      own.filter(({ type }) => type === "cancel"),
      [],
    );
  });

  test("a run that comes no further in five takings is ended, with the reason", async () => {
    const { root, another, store } = setUp({ lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")] });
    const running = root.run(lead, "Go.");
    running.then(undefined, () => undefined);
    const facts = { name: "dying", agents: ["scout"], places: 1 };
    for (let taking = 1; taking <= 5; taking++) {
      let taken = await store.placing.take(facts, 1);
      while (taken.length === 0) {
        await new Promise((resolve) => setImmediate(resolve));
        taken = await store.placing.take(facts, 1);
      }
      // As one that dies before it writes anything.
      for (const { journalId, fence } of taken) await store.release(journalId, fence);
    }
    await using _worker = await another().work({ name: "one" });
    const { runId } = await running;
    const end = endOf(await eventsOf(store, runId, "lead/scout"));
    assert.deepEqual(
      [end?.status, end?.fault?.message],
      ["failed", "5 workers took this run one after the other, and it came no further in any of them"],
    );
  });
});

suite("a root whose process ends", () => {
  test("is resumed and finds its placed child at work, or ended, and makes no call of it again", async () => {
    const { root, another, store, asked } = setUp({
      lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
      "lead/scout": [[after(50), says("A wall.")]],
    });
    const running = root.run(lead, "Go.", {
      onEvent: (event) => void (event.type === "placed" && placed.resolve(event.childRunId)),
    });
    const placed = Promise.withResolvers<string>();
    running.then(undefined, () => undefined);
    await placed.promise;
    // Another process takes the journal over: the first one writes nothing more.
    await store.release(running.id, 1);
    await using _worker = await another().work({ name: "one" });
    const resumed = await another().resume(running.id);
    assert.deepEqual([resumed.status, resumed.text], ["completed", "Seen."]);
    assert.deepEqual(
      resumed.agents.map(({ path, status, turns }) => [path, status, turns]),
      [
        ["lead", "completed", 2],
        ["lead/scout", "completed", 1],
      ],
    );
    assert.equal(asked.get("lead/scout"), 1);
    assert.equal(
      (await eventsOf(store, running.id, "lead/scout")).filter(({ type }) => type === "run-start").length,
      1,
    );
  });
});

suite("a submitted root", () => {
  test("is taken by a worker, and its result comes to the process that waits for it", async () => {
    const { root, another, store } = setUp({
      lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
      "lead/scout": [says("A wall.")],
    });
    const events: string[] = [];
    const submitted = await root.submit(lead, "Go.", {
      onEvent: ({ path, type }) => void events.push(`${path} ${type}`),
    });
    assert.equal((await store.run(submitted.id))?.status, "queued");
    await using _worker = await another().work({ name: "one" });
    const result = await submitted.result;
    assert.deepEqual([result.status, result.text, result.agents.length], ["completed", "Seen.", 2]);
    assert.equal(
      result.usage.totalTokens,
      result.agents.reduce((sum, { usage }) => sum + usage.totalTokens, 0),
    );
    assert.deepEqual(events.filter((each) => each.endsWith("run-end") || each.endsWith("run-start")).sort(), [
      "lead run-end",
      "lead run-start",
      "lead/scout run-end",
      "lead/scout run-start",
    ]);
  });

  test("has no person to ask, whatever the process that submitted it has", async () => {
    const touch = tool({
      name: "touch",
      description: "Touches.",
      tier: "confirm",
      inputSchema: { type: "object" },
      execute: () => "Done.",
    });
    const careful = lead.with({ tools: [touch], subagents: [] });
    const { root, another } = setUp(
      { lead: [calls("touch"), says("Not touched.")] },
      { agents: [careful], approve: () => ({ allow: true }) },
    );
    await using _worker = await another().work({ name: "one" });
    const { status, stopReason, denied } = await (await root.submit(careful, "Go.")).result;
    assert.deepEqual([status, stopReason], ["incomplete", "consent"]);
    assert.deepEqual(
      denied.map(({ path, toolName }) => [path, toolName]),
      [["lead", "touch"]],
    );
  });

  test("is cancelled by the process that submitted it", async () => {
    const { root, another } = setUp({
      lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
      "lead/scout": [hangs()],
    });
    await using _worker = await another().work({ name: "one" });
    const submitted = await root.submit(lead, "Go.", {
      onEvent: (event) => void (event.type === "turn-start" && event.path === "lead/scout" && submitted.cancel()),
    });
    assert.equal((await submitted.result).status, "cancelled");
  });
});

suite("a run that was stopped before its worker took it", () => {
  test("ends without a word to its model, however late the mail is read", async () => {
    const { root, store, asked, models } = setUp({ lead: [says("Seen.")] });
    const submitted = await root.submit(lead, "Go.");
    submitted.cancel();
    while ((await store.placing.mail([submitted.id], 0)).length === 0) await new Promise((next) => setImmediate(next));
    const mail = async (...given: Parameters<typeof store.placing.mail>) => {
      for (let turn = 0; turn < 200; turn++) await new Promise((next) => setImmediate(next));
      return store.placing.mail(...given);
    };
    const placing = changed(store.placing, { mail });
    const slow = changed(store, { placing });
    const agents = [scout, lead];
    await using _worker = await runtimeOn(models, { store: slow, engine: storeEngine(slow), agents }).work();
    assert.equal((await submitted.result).status, "cancelled");
    assert.equal(asked.get("lead"), undefined);
  });
});

suite("rights", () => {
  test("a worker whose definition has more than the gate recorded gives the run no more", async () => {
    const rans: string[] = [];
    const make = (name: string) =>
      tool({ name, description: "Does.", inputSchema: { type: "object" }, execute: () => `${rans.push(name)}` });
    const narrow = scout.with({ tools: [make("look")], subagents: [] });
    const wide = scout.with({ tools: [make("look"), make("boom")], delegate: true });
    const asking = lead.with({ subagents: [narrow] });
    const script = {
      lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
      "lead/scout": [
        calls("boom"),
        calls("look"),
        calls("subagent", { label: "x", task_prompt: "y" }),
        says("A wall."),
      ],
    };
    const { root, store, models } = setUp(script, { agents: [narrow, asking] });
    const { runtimeOn } = await import("../../../../../src/runtime.ts");
    const { storeEngine } = await import("../../../../../src/runtime/tree/placing/store-engine.ts");
    const worker = runtimeOn(models, { store, engine: storeEngine(store), agents: [wide, asking] });
    await using _worker = await worker.work({ name: "wide" });
    const { runId } = await root.run(asking, "Go.");
    assert.deepEqual(rans, ["look"]);
    assert.equal((await store.tree(runId)).length, 2);
  });
});
