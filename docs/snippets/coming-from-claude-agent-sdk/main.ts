/** A program of the Claude Agent SDK, written for sous: read tools, a reviewer, a spending limit, a session that is continued. */

import { agent, openMemoryStore, resume, run } from "sous";
import { calls, says, scriptedModel } from "sous/testing";
import { readOnlyTools } from "sous/tools";

const model = scriptedModel({
  lead: [
    calls("subagent_reviewer", { task: "Review main.ts." }),
    says("One example, nothing to mend."),
    says("Forty lines."),
  ],
  "lead/reviewer": [calls("glob", { pattern: "*.ts" }), says("main.ts is an example.")],
});
const store = openMemoryStore(); // or openSqliteStore("runs.db") from "sous/sqlite": then it outlives the process

// #region program
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const tools = readOnlyTools({ root: import.meta.dirname }); // allowedTools: ["Read", "Glob", "Grep"]
const reviewer = agent({ name: "reviewer", description: "Reviews code.", instructions: "Be strict.", tools });
const lead = agent({ name: "lead", model, tools, subagents: [reviewer], maxTurns: 10 });

const handle = run(lead, "Review this folder.", { store, budget: { tokens: 100_000 } });
for await (const event of handle) {
  if (event.type === "tool-call-start") console.log(`${event.path}: ${event.toolName}`);
}
const { text, runId } = await handle;
console.log(text);

const more = await resume(runId, { store, agent: lead, message: "How long is it?" }); // options.resume: sessionId
console.log(more.text);
// #endregion
