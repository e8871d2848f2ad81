/** A program with a ToolLoopAgent of the AI SDK, written for sous: a tool, a subagent, streaming, a checked answer. */

import { agent, run, tool } from "sous";
import { calls, says, scriptedModel, streams } from "sous/testing";
import { z } from "zod";

const model = scriptedModel({
  lead: [calls("subagent_forecaster", { task: "The weather in Oslo." }), streams("Take ", "an umbrella.")],
  "lead/forecaster": [calls("weather", { city: "Oslo" }), says('{ "rain": true }')],
});

// #region program
const weather = tool({
  name: "weather",
  description: "The weather in a city.",
  inputSchema: z.object({ city: z.string() }),
  effect: "read",
  execute: ({ city }) => `${city}: rain`,
});

// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5"; or a model of an AI SDK provider
const forecaster = agent({
  name: "forecaster",
  description: "Knows the weather.",
  tools: [weather],
  outputSchema: z.object({ rain: z.boolean() }),
});
const lead = agent({ name: "lead", model, subagents: [forecaster], maxTurns: 20 });

const handle = run(lead, "Do I need an umbrella in Oslo?", { budget: { tokens: 50_000 } });
for await (const event of handle) {
  if (event.type === "text-delta" && event.path === "lead") process.stdout.write(event.text);
}
const { status, usage, agents } = await handle;
// #endregion
console.log(`\n${status}, tokens were counted: ${usage.totalTokens > 0}`);
for (const { path, turns } of agents) console.log(`${path}: ${turns} turns`);
