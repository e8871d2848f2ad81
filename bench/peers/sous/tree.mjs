/** What sous does in each workload, whatever the model. It is the published build that is measured. */

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

export async function runAlone(model) {
  await run(agent({ name: "agent", model, tools: [work], maxTurns }), "go", { onEvent: countDelta });
}

export async function runAloneByIterator(model) {
  for await (const event of run(agent({ name: "agent", model, tools: [work], maxTurns }), "go")) countDelta(event);
}

export async function runTree(parentModel, childModel, fan) {
  const child = agent({ name: "child", instructions: "child", model: childModel, tools: [work], maxTurns });
  const parent = agent({
    name: "parent",
    instructions: "parent",
    model: parentModel,
    subagents: [child],
    maxTurns,
  });
  // The defaults are 5 children and 16 calls at once; everyone else runs all of them.
  const runtime = createRuntime({ maxConcurrentCalls: fan, limits: { maxConcurrent: fan } });
  await runtime.run(parent, "go");
}

function countDelta(event) {
  if (event.type === "text-delta") counters.deltas++;
}
