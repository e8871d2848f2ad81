/** What sous does in each workload, whatever the model and the store. It is the published build that is measured. */

import { z } from "zod";
import { agent, createRuntime, run, tool } from "../../../packages/sous/dist/index.js";
import { counters, doWork } from "../../mock/brain.mjs";

const maxTurns = 1000;
const work = tool({
  name: "work",
  description: "work",
  inputSchema: z.object({ i: z.number() }),
  execute: async () => doWork(),
});

/** Without a store every run has a memory store of its own. */
export async function runAlone(model, store) {
  await run(agent({ name: "agent", model, tools: [work], maxTurns }), "go", { onEvent: countDelta, store });
}

export async function runAloneByIterator(model, store) {
  const handle = run(agent({ name: "agent", model, tools: [work], maxTurns }), "go", { store });
  for await (const event of handle) countDelta(event);
}

export async function runTree(parentModel, childModel, fan, store) {
  const child = agent({ name: "child", instructions: "child", model: childModel, tools: [work], maxTurns });
  const parent = agent({
    name: "parent",
    instructions: "parent",
    model: parentModel,
    subagents: [child],
    maxTurns,
  });
  // The defaults are 5 children and 16 calls at once; everyone else runs all of them.
  const runtime = createRuntime({ maxConcurrentCalls: fan, limits: { maxConcurrent: fan }, store });
  await runtime.run(parent, "go");
}

function countDelta(event) {
  if (event.type === "text-delta") counters.deltas++;
}
