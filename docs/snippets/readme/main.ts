/** The example of the README and of the site's first page: a lead, a subagent that can read files, and a limit for both. */

// #region all
import { agent, run } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import { readOnlyTools } from "sous/tools";

const steps = [calls("subagent_scout", { task: "Find the tests." }), says("Refunds have no test.")];
const model = scriptedModel({ lead: steps, "lead/scout": [says("test/pay.test.ts")] });
const scout = agent({ name: "scout", description: "Finds code.", tools: readOnlyTools() });
const lead = agent({ name: "lead", model, subagents: [scout] });
const { text, agents } = await run(lead, "What is not tested?", { budget: { tokens: 50_000 } });
console.log(`${agents.length} agents: ${text}`);
// #endregion
