/** The file that `sous agents new` writes: every key with what it is for, and the dangerous ones left out. */
export function agentTemplate(name: string): string {
  return `---
# How it is called: @${name} in chat, subagent_${name} for models.
name: ${name}
# How people see it; its name without the line.
# nickname: The ${name}
# Models read this to choose.
description: What it is good at, and when to call it.
# Exactly these tools. Without the line: whatever its caller may pass on. Empty: none.
tools: [read_file, grep, glob]
# All tools of these MCP servers besides; single ones are named in tools: mcp__github__get_issue.
# mcp_servers: [github]
# Never these, for it and everything below it.
# deny: [terminal]
# Rules for single calls: ask or deny. In a project nothing can be allowed.
# permissions:
#   - deny: "write_file(.env*)"
# provider/model, or inherit, sonnet, opus, haiku, or external/NAME for an agent of agent_servers.
model: inherit
# How many turns one call may take; 100 without the line.
max_turns: 20
# How long one call may take, such as 90s, 5m or 2h; as long as it needs without the line.
timeout: 5m
# The longest answer of one call, in tokens. Where a budget is set, each call reserves this much, 4096 without the line.
# max_output_tokens: 2000
# How freely it answers, from 0 to 2; the provider's own without the line.
# temperature: 0.2
# How much its model thinks: none, minimal, low, medium, high, xhigh or max.
# effort: high
# required, or a tool by its name: until its first call the model must call one. auto without the line; none forbids tools.
# tool_choice: required
# Options of a provider, by its name. Only in a file of your own: without effect in a project.
# provider_options: { openai: { serviceTier: flex } }
# true lets it have children of its own.
delegate: false
# false: it does not read the notes of the project (AGENTS.md). The folder, the day and the system are always told.
# notes: false
# worker: as a child it is continued by a worker of this folder (sous worker), in a process of its own. It needs the line tools.
# place: worker
# A JSON Schema that its answer must match; text without the line.
# output_schema: { type: object, properties: { found: { type: boolean } }, required: [found] }
---
Say what the agent should do, what it should leave alone, and what its answer should look like.
Answer with file:line only.
`;
}
