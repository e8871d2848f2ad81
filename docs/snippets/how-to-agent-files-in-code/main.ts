/** Agents of files in a program, under the rights that the files say. */

import { agent, run } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import { builtInTools, loadAgents } from "sous/tools";

// #region load
const { agents, problems } = await loadAgents({
  folder: `${import.meta.dirname}/agents`,
  tools: builtInTools({ root: import.meta.dirname }),
});
for (const { file, line, message } of problems) console.warn(`${file}:${line}: ${message}`);
// #endregion

const model = scriptedModel({
  lead: [calls("subagent_scout", { task: "Which files are here?" }), says("There is main.ts.")],
  "lead/scout": [calls("terminal", { command: "rm main.ts" }), says("I may not remove files. There is main.ts.")],
});

// #region use
const lead = agent({ name: "lead", model, subagents: agents });
const handle = run(lead, "Which files are here?", { approve: () => ({ allow: true }) });
for await (const event of handle) {
  if (event.type === "tool-call-end" && event.toolName === "terminal") console.log(event.output.split(" (")[0]);
}
console.log((await handle).text);
// #endregion
