/** Settings of an agent for its model: temperature, effort, the choice of tools, options of a provider. */

import { agent, run, tool, UserError } from "sous";
import type { ModelRequest } from "sous/embed";
import { calls, says, scriptedModel } from "sous/testing";

const search = tool({
  name: "search",
  description: "Finds lines.",
  effect: "read",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
  execute: () => "src/login.ts:3: retry",
});

function show({ caller, settings }: ModelRequest): void {
  const { temperature, effort, toolChoice } = settings;
  console.log(`${caller.path}, turn ${caller.turn}: ${JSON.stringify({ temperature, effort, toolChoice })}`);
}

// With a key in OPENAI_API_KEY: const model = "openai/gpt-5.5";
const model = scriptedModel(
  {
    scout: [
      calls("search", { text: "retry" }),
      calls("subagent_judge", { task: "Is that all?" }),
      says("In login.ts."),
    ],
    "scout/judge": [says("Yes.")],
  },
  { onRequest: show },
);

// #region options
const scout = agent({
  name: "scout",
  model,
  tools: [search],
  temperature: 0.2,
  effort: "low",
  // The model must call a tool until it has made its first call.
  toolChoice: "required",
  providerOptions: { openai: { serviceTier: "flex" } },
  subagents: [agent({ name: "judge", description: "Judges.", effort: "high" })],
});
// #endregion

const { text } = await run(scout, "Where do we retry?");
console.log(text);

try {
  // @ts-expect-error: a compiler says so too.
  agent({ name: "scout", temparature: 0.2 });
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  console.log(error.message);
}
