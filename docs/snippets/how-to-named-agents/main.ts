/** Specialists in `subagents`, and the same as tools of a factory, with what code learns of their work. */

import { agent, run, ToolRegistry, tool } from "sous";
import { type NamedAgentResult, subagentFactory } from "sous/embed";
import { calls, says, scriptedModel, uses } from "sous/testing";

const grep = tool({
  name: "grep",
  displayName: "Search in files",
  description: "Finds lines.",
  effect: "read",
  inputSchema: { type: "object", properties: { pattern: { type: "string" } } },
  execute: () => "src/login.ts:3: retry\nsrc/queue.ts:9: retry",
});
const write = tool({
  name: "write_file",
  description: "Writes a file.",
  inputSchema: { type: "object", properties: { path: { type: "string" } } },
  execute: () => "written",
});

const model = scriptedModel({
  editor: [calls("subagent_finder", { task: "Where do we retry?" }), says("In login.ts and queue.ts.")],
  "editor/finder": [calls("grep", { pattern: "retry" }), says("login.ts:3, queue.ts:9")],
  lead: [calls("subagent_scout", { task: "Where do we retry?" }), says("In two files.")],
  "lead/scout": [
    [calls("grep", { pattern: "retry" }), uses({ input: 200, output: 20 })],
    [says("In login.ts and queue.ts."), uses({ input: 260, output: 12 })],
  ],
});

// #region subagents
const finder = agent({ name: "finder", description: "Finds code.", tools: [grep], maxTurns: 8 });
const author = agent({ name: "author", description: "Writes notes.", tools: [write] });
const editor = agent({ name: "editor", model, subagents: [finder, author] });

const { text: answer, agents } = await run(editor, "Where do we retry?");
console.log(answer);
for (const { path, turns } of agents) console.log(`${path}: ${turns} turns`);
// #endregion

// #region factory
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const registry = new ToolRegistry([grep, write]);
const factory = subagentFactory({ model, registry });
const scout = factory.createReadOnly({ name: "scout", description: "Finds things.", maxTurns: 8 });
const writer = factory.create({ name: "writer", description: "Writes notes.", tools: ["write_file"] });
// #endregion

// #region run
const lead = agent({
  name: "lead",
  model,
  tools: [scout, writer],
  hooks: {
    afterToolCall({ toolName }, { data }) {
      if (toolName === "subagent_scout") show(data as NamedAgentResult);
      return undefined;
    },
  },
});
const { text } = await run(lead, "Where do we retry?", { approve: () => ({ allow: true }) });
console.log(text);
// #endregion

// #region result
function show({ name, success, totalTurns, toolLogs, usage, finalResponse }: NamedAgentResult): void {
  for (const { displayName, context, result } of toolLogs) console.log(`${displayName} ${context}: ${result}`);
  console.log(`${name}: ${success ? "ok" : "failed"}, ${totalTurns} turns, ${usage.totalTokens} tokens`);
  console.log(finalResponse);
}
// #endregion
