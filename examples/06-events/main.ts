/** Watching a tree: every event of every agent in it, in order. */

import { agent, run, type SousEvent } from "sous";
import { trackProgress } from "sous/embed";
import { calls, says, scriptedModel, streams } from "sous/testing";

// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const model = scriptedModel({
  lead: [calls("subagent_scout", { task: "Find the tests." }), streams("There ", "are ", "two.")],
  "lead/scout": [says("login.test.ts, rights.test.ts")],
});
const scout = agent({ name: "scout", description: "Finds files." });
const lead = agent({ name: "lead", model, subagents: [scout] });

// #region describe
function describe(event: SousEvent): string | undefined {
  const name = event.path;
  if (event.type === "run-start") return `${name} starts`;
  if (event.type === "tool-call-start") return `${name} calls ${event.toolName}`;
  if (event.type === "text-delta") return `${name} says ${JSON.stringify(event.text)}`;
  if (event.type === "run-end") return `${name} ends: ${event.status}`;
  return undefined;
}
// #endregion

// #region iterate
const handle = run(lead, "How many tests are there?");
for await (const event of handle) {
  const line = describe(event);
  if (line !== undefined) console.log(line);
}
const { text } = await handle;
console.log(text);
// #endregion

// #region listen
const types: string[] = [];
const onProgress = trackProgress(({ path, currentTurn, completed }) => {
  if (completed) console.log(`\n${path} took ${currentTurn} turn`);
});
await run(lead, "How many tests are there?", {
  onEvent(event) {
    if (event.seq !== undefined) types.push(`${event.seq} ${event.type} ${event.path}`);
    onProgress(event);
  },
});
console.log(types.join("\n"));
// #endregion
