/** A rerun follows what the ledger granted and refused then, also where others shared in it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type AgentOptions, agent } from "../../../src/core/agent.ts";
import type { RunOptions, RuntimeOptions } from "../../../src/core/runtime.ts";
import { rerun } from "../../../src/rerun.ts";
import { createRuntime } from "../../../src/runtime.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { after, calls, type Script, says, uses } from "../../../src/testing/steps.ts";
import { openStage, type Stage, simpleTool } from "../../support/requirements/support.ts";
import { rerunBothWays } from "../../support/rerun/support.ts";

type Plan = { script: Script; lead?: Partial<AgentOptions>; runtime?: RuntimeOptions; run?: RunOptions };

async function recordAndRerun({ script, lead: given, runtime, run }: Plan): Promise<Stage> {
  const stage = openStage(script, runtime === undefined ? {} : { runtime });
  const lead = stage.lead(given);
  const { runId } = await stage.run(lead, "Go.", run);
  await rerunBothWays(stage, runId, [lead]);
  return stage;
}

const look = simpleTool("look");

function child(label: string, more: Record<string, unknown> = {}) {
  return calls("subagent", { label, task_prompt: `Do ${label}.`, ...more });
}

function eight(more: Record<string, unknown> = {}) {
  const tasks = ["a", "b", "a", "c", "a", "d", "e", "f"].map((label, index) => ({
    label,
    task_prompt: `Part ${index}.`,
  }));
  return calls("parallel_subagent", { tasks, max_concurrent: 8, ...more });
}

const severalTurns: Script = {
  lead: [eight(), says("Seen.")],
  "lead/*": ({ caller }) =>
    caller.turn < 4
      ? [
          after(10 * caller.turn),
          says(`Turn ${caller.turn}.`),
          calls("look"),
          uses({ input: 400 * caller.turn, output: 200 }),
        ]
      : [after(5), says("Done."), uses({ input: 400, output: 200 })],
};

suite("G4, H1: a rerun of a tree", () => {
  for (const onExhausted of ["wrap-up", "stop"] as const) {
    for (const tokens of [20_000, 30_000, 44_000]) {
      test(`children wait again for ${tokens} tokens, are refused and ${onExhausted}`, async () => {
        const stage = await recordAndRerun({
          script: severalTurns,
          lead: { tools: [look] },
          runtime: { limits: { summary: "never", maxConcurrent: 8 } },
          run: { budget: { tokens }, onExhausted },
        });
        assert.ok(stage.eventsOf("budget-wait").length > 0, "somebody waited");
      });
    }
  }

  test("a child in the background is refused again after its call has returned", async () => {
    const stage = await recordAndRerun({
      script: {
        lead: [
          [child("a", { background: true }), child("b", { background: true, allowed_tools: [] })],
          calls("look"),
          says("I wait."),
          says("One."),
          says("Done."),
          says("Done."),
        ],
        "lead/a": [[after(100), says("A."), uses({ input: 5_000, output: 2_700 })]],
      },
      lead: { tools: [look] },
      runtime: { limits: { children: { tokens: 8_000 } } },
    });
    assert.deepEqual(
      stage.eventsOf("spawn-refused").map(({ childPath, waited }) => [childPath, waited]),
      [["lead/b", true]],
    );
  });

  test("a child is stopped again while it waits to start", async () => {
    const stage = openStage({
      lead: [[child("a"), child("b")], says("Seen.")],
      "lead/*": [[after(2_000), says("Done."), uses({ input: 50, output: 50 })]],
    });
    const lead = stage.lead();
    const handle = stage.start(lead, "Go.", { limits: { children: { tokens: 8_000 } } });
    stage.world.clock.ownTimer(1_000, () => void handle.cancel("lead/b"));
    const { runId } = await stage.end(handle);
    assert.equal(stage.eventsOf("spawn-refused")[0]?.errorType, "cancelled");
    await rerunBothWays(stage, runId, [lead]);
  });

  test("a tree that shared its budget with another is run again without asking the books", async () => {
    const store = openMemoryStore();
    const team = await store.sharedBudget("team", { tokens: 60_000, executions: 40 });
    const model = scriptedModel(severalTurns);
    const lead = agent({ name: "lead", model, delegate: true, tools: [look] });
    const runtime = createRuntime({ store, limits: { summary: "never", maxConcurrent: 8 } });
    const runs = await Promise.all(
      ["One.", "Two.", "Three."].map((task) => runtime.run(lead, task, { budget: { from: team } })),
    );
    const before = await team.spent();
    for (const { runId } of runs) {
      const { firstDifference, matches } = await rerun(runId, { store, agents: [lead] });
      assert.deepEqual([firstDifference?.sentence, matches], [undefined, true]);
    }
    assert.deepEqual(await team.spent(), before);
    assert.ok(runs.some(({ status }) => status !== "completed") || (before.tokens ?? 0) > 50_000, "it was tight");
  });
});
