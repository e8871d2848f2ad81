import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../../src/core/agent.ts";
import { UserError } from "../../../../../src/core/errors.ts";
import type { SousEvent } from "../../../../../src/core/event.ts";
import { tool } from "../../../../../src/core/tool.ts";
import { after, calls, hangs, says } from "../../../../../src/testing/steps.ts";
import { endOf, eventsOf, lead, scout, setUp } from "./set-up.ts";

suite("a placed child", () => {
  test("is continued by a worker, and its parent gets its report", async () => {
    const { store, root, another } = setUp({
      lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
      "lead/scout": [says("A wall.")],
    });
    await using _worker = await another().work({ name: "one" });
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
      records.map(({ path, rootId, journalId, id, status }) => [
        path,
        rootId === result.runId,
        journalId === id,
        status,
      ]),
      [
        ["lead", true, true, "completed"],
        ["lead/scout", true, true, "completed"],
      ],
    );
    const child = await eventsOf(store, result.runId, "lead/scout");
    const types = child.map(({ type }) => type);
    assert.deepEqual(types, ["run-start", "resume", "turn-start", "message-end", "run-end"]);
    assert.deepEqual(
      events.filter((event) => "journalId" in event).map(({ type }) => type),
      types,
      "the root shows every event of it once, in their order",
    );
  });

  test("places its own children, and the bill of all of them reaches the root", async () => {
    const { store, root, another } = setUp({
      lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
      "lead/scout": [calls("subagent_deep", { task: "Dig." }), says("A wall.")],
      "lead/scout/deep": [says("Sand.")],
    });
    await using _worker = await another().work({ name: "one" });
    await using _other = await another().work({ name: "two" });
    const result = await root.run(lead, "Go.");
    assert.deepEqual(
      result.agents.map(({ path, status, depth }) => [path, status, depth]),
      [
        ["lead", "completed", 0],
        ["lead/scout", "completed", 1],
        ["lead/scout/deep", "completed", 2],
      ],
    );
    const records = await store.tree(result.runId);
    assert.equal(
      result.usage.totalTokens,
      records.reduce((sum, { usage }) => sum + usage.totalTokens, 0),
    );
    const deep = await eventsOf(store, result.runId, "lead/scout/deep");
    assert.equal(deep[0]?.type === "run-start" && deep[0].placed?.rootId, result.runId);
  });

  test("stays with its parent when the runtime has no engine", async () => {
    const { root, store } = setUp(
      { lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")], "lead/scout": [says("A wall.")] },
      { engine: undefined },
    );
    const { runId } = await root.run(lead, "Go.");
    assert.deepEqual([...new Set((await store.tree(runId)).map(({ journalId }) => journalId))], [runId]);
  });

  test("goes to a worker with every other named child when the limits say so", async () => {
    const here = scout.with({ place: undefined });
    const asking = lead.with({ subagents: [here] });
    const { root, another, store } = setUp(
      { lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")], "lead/scout": [says("A wall.")] },
      { limits: { place: "children" }, agents: [here, asking] },
    );
    await using _worker = await another().work();
    const { runId } = await root.run(asking, "Go.");
    assert.equal(new Set((await store.tree(runId)).map(({ journalId }) => journalId)).size, 2);
  });

  test("is stopped with the root, and says so in its own journal", async () => {
    const { root, another, store } = setUp({
      lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
      "lead/scout": [hangs()],
    });
    await using _worker = await another().work();
    const handle = root.run(lead, "Go.", {
      onEvent: (event) => void (event.type === "turn-start" && event.path === "lead/scout" && handle.cancel()),
    });
    const result = await handle.result;
    assert.equal(result.status, "cancelled");
    const child = await eventsOf(store, result.runId, "lead/scout");
    assert.deepEqual([endOf(child)?.status, child.some(({ type }) => type === "cancel")], ["cancelled", true]);
  });

  test("that no worker has taken ends when its root is cancelled", async () => {
    const { root, store } = setUp({ lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")] });
    const handle = root.run(lead, "Go.", {
      onEvent: (event) => void (event.type === "placed" && setImmediate(() => handle.cancel())),
    });
    const result = await handle.result;
    assert.equal(result.status, "cancelled");
    assert.equal(endOf(await eventsOf(store, result.runId, "lead/scout"))?.status, "cancelled");
  });

  test("hears what is said to it, once", async () => {
    const { root, another, store } = setUp({
      lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
      "lead/scout": [calls("subagent_deep", { task: "Dig." }), says("A wall.")],
      "lead/scout/deep": [[after(900), says("Sand.")]],
    });
    await using _worker = await another().work();
    let isSaid = false;
    const handle = root.run(lead, "Go.", {
      onEvent(event) {
        if (event.type !== "tool-call-start" || event.path !== "lead/scout" || isSaid) return;
        isSaid = handle.steer("lead/scout", "Hurry.");
      },
    });
    const { runId } = await handle;
    const child = await eventsOf(store, runId, "lead/scout");
    assert.deepEqual(
      child.flatMap((event) => (event.type === "steer" ? [event.text] : [])),
      ["Hurry."],
    );
    assert.equal(handle.steer("lead/nobody", "Hurry."), false);
  });

  test("asks the person at the root, and the answer reaches it", async () => {
    const touched: string[] = [];
    const touch = tool({
      name: "touch",
      description: "Touches.",
      tier: "confirm",
      inputSchema: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
      execute: (input) => {
        touched.push(String((input as { what: string }).what));
        return "Done.";
      },
    });
    const careful = scout.with({ tools: [touch], subagents: [] });
    const asking = lead.with({ subagents: [careful] });
    const questions: string[] = [];
    const { root, another } = setUp(
      {
        lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
        "lead/scout": [calls("touch", { what: "wall" }), says("A wall.")],
      },
      {
        agents: [careful, asking],
        approve: async ({ path, toolName, digest = "" }) => {
          questions.push(`${path} ${toolName} ${/^[0-9a-f]{8}$/.test(digest)}`);
          return { allow: true };
        },
      },
    );
    await using _worker = await another().work();
    assert.equal((await root.run(asking, "Go.")).status, "completed");
    assert.deepEqual([questions.sort(), touched], [["lead/scout touch true"], ["wall"]]);
  });

  test("of an agent that no living worker knows ends as a failure that says so", async () => {
    const { root, store } = setUp({ lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")] });
    await using _worker = await store.placing.enlist({ name: "other", agents: ["other"], places: 5 });
    const { runId } = await root.run(lead, "Go.");
    const fault = endOf(await eventsOf(store, runId, "lead/scout"))?.fault?.message;
    assert.match(String(fault), /No worker knows the agent scout/);
  });
});

suite("what cannot travel is refused at the gate", () => {
  const cases: [what: string, changed: Parameters<typeof scout.with>[0], sentence: RegExp][] = [
    [
      "a model object",
      { model: { id: "own/model", answer: async () => Promise.reject(new Error()) } as never },
      /its model \S+ is an object/,
    ],
    ["hooks", { hooks: { onError: () => undefined } }, /its hooks are functions/],
    ["rules", { rules: { decide: () => undefined } }, /its rules are functions/],
    [
      "tools for files",
      {
        tools: [
          tool({
            name: "look",
            description: "Looks.",
            category: "read",
            inputSchema: { type: "object" },
            execute: () => "",
          }),
        ],
      },
      /its tool look works on files/,
    ],
  ];
  for (const [what, changed, sentence] of cases) {
    test(what, async () => {
      const own = scout.with(changed);
      const asking = lead.with({ subagents: [own] });
      const { root } = setUp(
        { lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")] },
        { agents: [own, asking] },
      );
      const refused: string[] = [];
      await root.run(asking, "Go.", {
        onEvent: (event) => void (event.type === "spawn-refused" && refused.push(event.message)),
      });
      assert.match(refused.join(), sentence);
    });
  }

  test("an agent below one whose rules bind it", async () => {
    const asking = lead.with({ rules: { decide: () => undefined } });
    const { root } = setUp({ lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")] });
    const refused: string[] = [];
    await root.run(asking, "Go.", {
      onEvent: (event) => void (event.type === "spawn-refused" && refused.push(event.message)),
    });
    assert.match(refused.join(), /the rules of lead above it are functions/);
  });

  test("an agent that has its parent's tools, by whichever call", async () => {
    const look = tool({ name: "look", description: "Looks.", inputSchema: { type: "object" }, execute: () => "" });
    const own = scout.with({ tools: undefined, subagents: [] });
    const asking = lead.with({ tools: [look], subagents: [own] });
    const script = {
      lead: [
        calls("subagent_scout", { task: "Look." }),
        calls("subagent", { agent: "scout", label: "scout", task_prompt: "Look." }),
        says("Seen."),
      ],
    };
    const { root } = setUp(script, { agents: [own, asking] });
    const refused: string[] = [];
    await root.run(asking, "Go.", {
      onEvent: (event) => void (event.type === "spawn-refused" && refused.push(event.message)),
    });
    assert.equal(refused.length, 2);
    for (const each of refused) assert.match(each, /it has its parent's tools/);
  });

  test("a root of an agent that workers cannot know", async () => {
    const { root } = setUp({});
    await assert.rejects(root.submit(agent({ name: "stranger", model: "scripted/one" }), "Go."), UserError);
  });
});
