/** The workloads of sous, whatever the model and the store. It is the published build that is measured. */

import { z } from "zod";
import { counters, doWork } from "../../mock/brain.mjs";
import { builtSous } from "./build.mjs";

const { agent, createRuntime, run, tool } = await builtSous("index.js");
const maxTurns = 1000;
/** Nothing is dropped from a long conversation, as the others do not. */
const conversation = { maxTokens: Number.POSITIVE_INFINITY };

/** The tool of the benchmark changes nothing outside, so it says that it only reads. */
export const reading = workTool("read");
/** Before this one everything is kept that the model has said: it may do something that cannot be undone. */
export const unsafe = workTool("unsafe");

/** Without a store every run has a memory store of its own. */
export async function runAlone(model, store, work = reading) {
  const options = { onEvent: countDelta, store, conversation };
  let handle = run(agent({ name: "agent", model, tools: [work], maxTurns }), "go", options);
  // A run has at most a thousand turns; a longer conversation is several.
  while ((await handle).stopReason === "turns") handle = handle.followUp("continue");
}

export async function runAloneByIterator(model, store, work = reading) {
  const handle = run(agent({ name: "agent", model, tools: [work], maxTurns }), "go", { store, conversation });
  for await (const event of handle) countDelta(event);
}

export async function runTree(parentModel, childModel, fan, store, work = reading) {
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

function workTool(effect) {
  return tool({
    name: "work",
    description: "work",
    effect,
    inputSchema: z.object({ i: z.number() }),
    execute: async () => doWork(),
  });
}

function countDelta(event) {
  if (event.type === "text-delta") counters.deltas++;
}
