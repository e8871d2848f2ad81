/** The example of the README: a lead that hands three tasks to three children. */

// #region readme
import { agent, run } from "sous";
import { calls, says, scriptedModel } from "sous/testing";

const tasks = ["security", "tests", "docs"].map((label) => ({ label, task_prompt: `Review the ${label}.` }));
const model = scriptedModel({
  lead: [calls("parallel_subagent", { tasks }), says("Merge it, but test partial refunds first.")],
  "lead/tests": [says("refund_partial has no test.")],
  "lead/*": [says("Nothing found.")],
}); // or with a key: const model = "anthropic/claude-sonnet-4-5";

const lead = agent({ name: "lead", model, delegate: true });
const { text, agents } = await run(lead, "Review this change.");
console.log(text);
for (const { path, status } of agents) console.log(`${path}: ${status}`);
// #endregion
