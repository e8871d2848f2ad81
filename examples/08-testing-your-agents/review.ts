/** The agents under test: a lead and a reviewer that may only read. Their model is an argument. */

import { type AgentDefinition, agent, type ModelChoice, type Tool, tool } from "sous";

// #region agents
const readFile: Tool = tool({
  name: "read_file",
  description: "Reads a file of the change.",
  effect: "read",
  inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  execute: () => "export const answer = 42;",
});

/** With a key in ANTHROPIC_API_KEY: reviewLead("anthropic/claude-sonnet-4-5") */
export function reviewLead(model: ModelChoice): AgentDefinition {
  const reviewer = agent({ name: "reviewer", description: "Reviews one file.", tools: [readFile], timeoutMs: 60_000 });
  return agent({ name: "lead", model, subagents: [reviewer] });
}
// #endregion
