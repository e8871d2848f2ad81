/** The file that `sous agents new` writes: every key with what it is for, and the dangerous ones left out. */

export function agentTemplate(name: string): string {
  return `---
name: ${name}
description: What it is good at, and when to call it. Models read this to choose.
# Exactly these tools. Without the line: whatever its caller may pass on. Empty: none.
tools: [read_file, grep, glob]
# Never these, for it and everything below it.
# deny: [terminal]
# Rules for single calls: ask or deny. In a project nothing can be allowed.
# permissions:
#   - deny: "write_file(.env*)"
# provider/model, or inherit, sonnet, opus, haiku.
model: inherit
max_turns: 20
timeout: 5m
# The longest answer of one call, in tokens. Where a budget is set, each call reserves this much, 4096 without the line.
# max_output_tokens: 2000
# true lets it have children of its own.
delegate: false
---
Say what the agent should do, what it should leave alone, and what its answer should look like.
Answer with file:line only.
`;
}
