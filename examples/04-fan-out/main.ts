/** Several children at once: started by your code, and started by a model. */

import { agent, fanOut, run } from "sous";
import { calls, fails, says, scriptedModel } from "sous/testing";

// #region code
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const model = scriptedModel({
  "fan-out/scout": [says("src/login.ts:12")],
  "fan-out/scout#2": [fails("auth", { message: "The key was refused" })],
  "fan-out/scout#3": [says("src/queue.ts:40")],
});
const scout = agent({ name: "scout", model, instructions: "Answer with file:line only." });

const topics = ["passwords", "billing", "jobs"];
const results = await fanOut(scout, topics, { concurrency: 2 });
for (const [index, { status, text, error }] of results.entries()) {
  console.log(`${topics[index]}: ${status}, ${error?.message ?? text}`);
}
// #endregion

// #region model
const leadModel = scriptedModel({
  lead: [
    calls("parallel_subagent", {
      max_concurrent: 2,
      tasks: [
        { label: "passwords", task_prompt: "Where do we handle passwords?" },
        { label: "jobs", task_prompt: "Where do we start jobs?", max_turns: 3 },
      ],
    }),
    says("Passwords in src/login.ts, jobs in src/queue.ts."),
  ],
  "lead/passwords": [says("src/login.ts:12")],
  "lead/jobs": [says("src/queue.ts:40")],
});
const lead = agent({ name: "lead", model: leadModel, delegate: true });

const { text, agents } = await run(lead, "Where are passwords and jobs?");
console.log(`\n${text}`);
console.log(agents.map(({ path }) => path).join("\n"));
// #endregion
