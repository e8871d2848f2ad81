import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { calls, says, uses } from "../../../../../src/testing/steps.ts";
import { endOf, eventsOf, lead, scout, setUp } from "./set-up.ts";

const task = (label: string) => ({ label, task_prompt: `Look at ${label}.`, agent: "scout" });
const FAN_OUT = calls("parallel_subagent", { tasks: ["a", "b", "c", "d", "e", "f"].map(task) });
const SCRIPT = {
  lead: [FAN_OUT, says("Seen.")],
  "lead/*": [[says("A wall."), uses({ input: 400, output: 100 })]],
};

suite("a budget over workers", () => {
  test("is never overspent by children that work elsewhere", async () => {
    const { root, another, store } = setUp(SCRIPT);
    await using _one = await another().work({ name: "one", places: 3 });
    await using _two = await another().work({ name: "two", places: 3 });
    const result = await root.run(lead, "Go.", { budget: { tokens: 12_000 } });
    const records = await store.tree(result.runId);
    const spent = records.reduce((sum, { usage }) => sum + usage.totalTokens, 0);
    assert.ok(spent <= 12_000, `${spent} tokens`);
    assert.equal(records.length, 7);
    const start = (await eventsOf(store, result.runId, "lead/a"))[0];
    assert.deepEqual(start?.type === "run-start" && start.placed?.budgets, [
      { name: result.runId, limits: { tokens: 12_000 } },
    ]);
  });

  test("leaves too little for one more, which is told so, and nothing hangs", async () => {
    const { root, another, store } = setUp(SCRIPT);
    await using _one = await another().work({ name: "one" });
    const result = await root.run(lead, "Go.", { budget: { tokens: 4_000 } });
    const records = await store.tree(result.runId);
    const spent = records.reduce((sum, { usage }) => sum + usage.totalTokens, 0);
    assert.ok(spent <= 4_000, `${spent} tokens`);
    assert.ok(records.some(({ status }) => status === "budget_exceeded" || status === "failed"));
  });

  test("a child's own share holds for everything below it, wherever that works", async () => {
    const poor = scout.with({ budget: { tokens: 1_500 } });
    const asking = lead.with({ subagents: [poor] });
    const { root, another, store } = setUp(
      {
        lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
        "lead/scout": [
          [calls("subagent_deep", { task: "Dig." }), uses({ input: 500, output: 100 })],
          [says("A wall."), uses({ input: 500, output: 100 })],
        ],
        "lead/scout/deep": [[says("Sand."), uses({ input: 700, output: 100 })]],
      },
      { agents: [...(scout.subagents ?? []), poor, asking] },
    );
    await using _one = await another().work({ name: "one" });
    const result = await root.run(asking, "Go.", { budget: { tokens: 100_000 } });
    const below = (await store.tree(result.runId)).filter(({ depth }) => depth > 0);
    assert.ok(below.reduce((sum, { usage }) => sum + usage.totalTokens, 0) <= 1_500);
    const end = endOf(await eventsOf(store, result.runId, "lead/scout"));
    assert.ok(end !== undefined);
  });
});
