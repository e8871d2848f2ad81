/** A tree with a child, on a scripted model. */

import { agent, run } from "sous";
import { calls, says, scriptedModel } from "sous/testing";

export async function answer() {
  const model = scriptedModel({
    lead: [calls("subagent", { label: "scout", task_prompt: "Look." }), says("Done.")],
    "lead/scout": [says("Seen.")],
  });
  const { text, agents } = await run(agent({ name: "lead", model, delegate: true }), "Go.");
  return { text, agents: agents.map(({ path, status }) => `${path} ${status}`) };
}
