import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { tool } from "../../../../../src/core/tool.ts";
import { storeEngine } from "../../../../../src/runtime/tree/placing/store-engine.ts";
import { runtimeOn } from "../../../../../src/runtime.ts";
import { calls, says } from "../../../../../src/testing/steps.ts";
import { lead, scout, setUp } from "./set-up.ts";

const touched: string[] = [];
const touch = tool({
  name: "touch",
  description: "Touches.",
  tier: "confirm",
  inputSchema: { type: "object", properties: { what: { type: "string" } }, required: ["what"] },
  execute: (input) => `${touched.push(String((input as { what: string }).what))}`,
});
const careful = scout.with({ tools: [touch], subagents: [] });
const asking = lead.with({ subagents: [careful] });
const SCRIPT = {
  lead: [calls("subagent_scout", { task: "Look." }), says("Seen.")],
  "lead/scout": [calls("touch", { what: "wall" }), says("A wall.")],
};

suite("a placed child whose question is answered later", () => {
  test("parks with the whole tree, and continues when resume brings the answer", async () => {
    const agents = [careful, asking];
    const { root, another, store, models } = setUp(SCRIPT, { agents, approve: () => "later" });
    await using _worker = await another().work({ name: "one" });
    const parked = await root.run(asking, "Go.");
    assert.deepEqual([parked.status, parked.stopReason, touched], ["incomplete", "consent", []]);
    const [question] = parked.questions;
    assert.deepEqual([question?.path, question?.toolName], ["lead/scout", "touch"]);
    assert.deepEqual(await root.questions(parked.runId), parked.questions);
    assert.equal((await store.run(parked.runId))?.status, "interrupted");

    const later = runtimeOn(models, { store, engine: storeEngine(store), agents });
    const answers = { [`${question?.id}:${question?.digest}`]: { allow: true } } as const;
    const resumed = await later.resume(parked.runId, { answers });
    assert.deepEqual([resumed.status, resumed.text, touched], ["completed", "Seen.", ["wall"]]);
  });

  test("a yes with the digest of another question is refused, and nothing is done", async () => {
    touched.length = 0;
    const agents = [careful, asking];
    const { root, another } = setUp(SCRIPT, { agents, approve: () => "later" });
    await using _worker = await another().work({ name: "one" });
    const { runId, questions } = await root.run(asking, "Go.");
    const answers = { [`${questions[0]?.id}:01234567`]: { allow: true } } as const;
    await assert.rejects(
      async () => await root.resume(runId, { answers }),
      /is not the one that this answer was given for/,
    );
    assert.deepEqual(touched, []);
  });
});
