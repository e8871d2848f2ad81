/** External agents: prompted by code, and as children of a run. */

import { join } from "node:path";
import { agent, createRuntime } from "sous";
import { createAcpClient } from "sous/acp";
import { calls, says, scriptedModel } from "sous/testing";

const model = scriptedModel({
  lead: [calls("subagent_fixer", { task: "Fix the login." }), says("The fixer is done.")],
});
const echo = { command: process.execPath, args: [join(import.meta.dirname, "echo-agent.ts")] };

// #region client
await using client = createAcpClient({
  // With Claude Code: { claude: { command: "npx", args: ["@agentclientprotocol/claude-agent-acp"] } }
  servers: { echo },
});
const { content, agentId } = await client.generate("Fix the login.");
console.log(`${agentId}: ${content}`);
// #endregion

// #region policy
// Without a policy every question of an agent is answered with no.
client.setPermissionPolicy(({ toolName, input }) => {
  console.log(`asked: ${toolName} ${JSON.stringify(input)}`);
  return toolName === "terminal";
});
for await (const piece of client.generateStream("Fix it again.")) {
  if (piece.type === "text") console.log(piece.text);
}
// #endregion

// #region child
const fixer = agent({ name: "fixer", description: "Fixes code.", model: "external/echo" });
const lead = agent({ name: "lead", model, subagents: [fixer] });
const runtime = createRuntime({
  models: { external: client },
  // Here a person decides: about starting the agent, and about what it asks for.
  approve: ({ path, toolName }) => {
    console.log(`${path} asks for ${toolName}`);
    return { allow: true };
  },
});
const { text, agents } = await runtime.run(lead, "Have the login fixed.");
console.log(text);
for (const { path, status } of agents) console.log(`${path}: ${status}`);
// #endregion
