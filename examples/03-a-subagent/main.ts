/** An agent that hands its question to a specialist with a tool it does not have itself. */

import { agent, run, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import { z } from "zod";

const project = [
  "src/login.ts:12   checkPassword(user, password)",
  "src/rights.ts:7   checkPermission(user, action)",
  "src/routes.ts:31  checkPermission(request.user, 'delete')",
];

const search = tool({
  name: "search",
  description: "Finds the lines of the project that contain a text.",
  effect: "read",
  inputSchema: z.object({ text: z.string() }),
  execute: ({ text }) => project.filter((line) => line.includes(text)).join("\n"),
});

// #region script
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const model = scriptedModel({
  lead: [
    calls("subagent_scout", { task: "Where is checkPermission defined and called?" }),
    says("It is defined in src/rights.ts and guards the delete route only."),
  ],
  "lead/scout": [
    calls("search", { text: "checkPermission" }),
    says("Defined in src/rights.ts:7, called from src/routes.ts:31."),
  ],
});
// #endregion

// #region agents
const scout = agent({
  name: "scout",
  description: "Finds code. Use it for any question that begins with where.",
  instructions: "Answer with file:line only.",
  tools: [search],
});

const lead = agent({ name: "lead", model, subagents: [scout] });
// #endregion

// #region run
const { text, agents } = await run(lead, "Are permissions checked on every route?");
console.log(text);
for (const { path, status, turns, toolCount } of agents) {
  console.log(`${path}: ${status}, turns: ${turns}, tool calls: ${toolCount}`);
}
// #endregion
