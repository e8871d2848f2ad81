/** Asking before a tool runs: a tool that needs approval, who gives it, and hooks around a call. */

import { agent, run, tool } from "sous";
import { calls, says, scriptedModel } from "sous/testing";

const model = scriptedModel({
  lead: [calls("subagent_editor", { task: "Tidy up." }), says("It is tidy.")],
  "lead/editor": [[calls("remove", { path: "notes.txt" }), calls("remove", { path: "main.ts" })], says("Tidied up.")],
});

// #region tool
const remove = tool({
  name: "remove",
  description: "Removes a file.",
  tier: "confirm",
  inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  execute: () => "Removed from volume 1234.",
});
// #endregion

// #region approve
// With a key in ANTHROPIC_API_KEY: const model = "anthropic/claude-sonnet-4-5";
const editor = agent({ name: "editor", description: "Edits files.", tools: [remove] });
const lead = agent({ name: "lead", model, subagents: [editor] });

const allowed = await run(lead, "Tidy up.", {
  approve({ path, toolName, input }) {
    console.log(`${path} wants to ${toolName} ${JSON.stringify(input)}`);
    const isNotes = JSON.stringify(input).includes("notes");
    return isNotes ? { allow: true } : { allow: false, reason: "It is in use." };
  },
  onEvent(event) {
    if (event.type === "approval-end") console.log(`allowed: ${event.allowed}, by: ${event.by}`);
    if (event.type === "tool-call-end" && event.isError) console.log(`the model reads: ${event.output}`);
  },
});
console.log(allowed.status);
// #endregion

// #region unattended
const alone = await run(lead, "Tidy up.");
console.log(`${alone.status}, ${alone.stopReason}: ${alone.text}`);
for (const { path, toolName, input } of alone.denied) console.log(`${path}: ${toolName} ${JSON.stringify(input)}`);
// #endregion

// #region hooks
const careful = editor.with({
  hooks: {
    beforeToolCall({ toolName, input }) {
      const isCode = toolName === "remove" && JSON.stringify(input).includes(".ts");
      return isCode ? { refuse: "Code is never removed." } : undefined;
    },
    afterToolCall: (_call, result) => ({ ...result, output: result.output.replaceAll(/\d+/g, "…") }),
  },
});

await run(lead.with({ subagents: [careful] }), "Tidy up.", {
  approve: () => ({ allow: true }),
  onEvent(event) {
    if (event.type === "tool-call-end" && event.path === "lead/editor") console.log(event.output);
  },
});
// #endregion
