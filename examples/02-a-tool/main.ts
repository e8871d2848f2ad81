/** An agent that calls a tool before it answers. */

// #region tool
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
// #endregion

// #region agent
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const model = scriptedModel(
  calls("search", { text: "checkPermission" }),
  says("src/rights.ts:7, called from src/routes.ts:31."),
);

const scout = agent({ name: "scout", model, tools: [search], instructions: "Answer with file:line only." });
// #endregion

// #region run
const handle = run(scout, "Where do we check permissions?");
for await (const event of handle) {
  if (event.type === "tool-call-end") console.log(`${event.toolName}:\n${event.output}\n`);
}
const { text } = await handle;
console.log(text);
// #endregion
