/**
 * A tree with children on workers, lived by the runtime: it wrote `test/golden/placed-3.json`, as `make-golden-journal.ts` wrote the
 * others. Workers live in real time, so it is another text each time.
 *
 *   node --conditions=sous-source -p "import('./test/unit/storage/store/make-placed-journal.ts').then((made) => made.livePlaced())"
 */

import { agent } from "../../../../src/core/agent.ts";
import type { SousEvent } from "../../../../src/core/event.ts";
import { storeEngine } from "../../../../src/runtime/tree/placing/store-engine.ts";
import { runtimeOn } from "../../../../src/runtime.ts";
import { exportTree } from "../../../../src/storage/store/export/tree.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { scriptedModel } from "../../../../src/testing/scripted-model.ts";
import { after, calls, says, uses } from "../../../../src/testing/steps.ts";

const model = "scripted/model";
const used = uses({ input: 90, output: 10 });
const SCRIPT = {
  lead: [
    calls("subagent", { label: "scout", agent: "scout", task_prompt: "Look at the wall.", background: true }),
    calls("subagent_wait"),
    [says("Seen."), used],
  ],
  "lead/scout": [
    [calls("subagent_deep", { task: "Dig." }), used],
    [says("A wall."), used],
    [says("So far a wall."), used],
  ],
  "lead/scout/deep": [[after(1500), says("Sand."), used]],
};

/** The exported tree: one journal, into which those of the workers are joined. */
export async function livePlaced(): Promise<string> {
  const store = openMemoryStore();
  const budget = { tokens: 50_000, costUsd: 5, durationMs: 60_000, executions: 5 };
  const deep = agent({ name: "deep", description: "Digs.", model, tools: [], place: "worker" });
  const scout = agent({
    name: "scout",
    description: "Looks.",
    model,
    tools: [],
    subagents: [deep],
    budget,
    place: "worker",
  });
  const lead = agent({ name: "lead", model, tools: [], subagents: [scout], delegate: true });
  const runtime = runtimeOn(() => scriptedModel(SCRIPT, { price: { input: 3, output: 15 } }), {
    store,
    engine: storeEngine(store),
    agents: [deep, scout, lead],
    approve: () => ({ allow: true }),
  });
  await using _worker = await runtime.work({ name: "one" });
  const handle = runtime.run(lead, "Go.", {
    budget: { tokens: 500_000, costUsd: 50, executions: 50 },
    onEvent: (event) => speak(event),
  });
  function speak({ type, path }: SousEvent): void {
    if (type !== "turn-start" || path !== "lead/scout/deep") return;
    handle.steer("lead/scout", "Look closely.");
    handle.cancel("lead/scout", { mode: "wrap-up" });
  }
  const { runId } = await handle;
  return exportTree(store, runId, "json");
}
