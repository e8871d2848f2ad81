/** Tools of MCP servers in agent files of the four dialects: what a file gives among the tools that servers turn out to have. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { AgentDialect, AgentFile, ReadAgent } from "../../../../src/app/config/agents/file.ts";
import { choiceAmong, toDefinition } from "../../../../src/app/config/agents/file.ts";
import { concernsServer, denies, grants } from "../../../../src/app/config/agents/mcp-entries.ts";
import { readAgentFile } from "../../../../src/app/config/agents/read.ts";
import { toEffectiveRights } from "../../../../src/app/config/agents/rights.ts";
import { OUR_TOOLS } from "../../../../src/app/config/agents/tools.ts";
import { type Tool, tool } from "../../../../src/core/tool.ts";
import { checkPattern } from "../../../../src/runtime/rights/rule-pattern.ts";

const SERVERS = ["github", "my files", "db"];
/** `fs/read` and `a.b` are real names; ours end with a hash of them. */
const GET = "mcp__github__get_issue";
const CREATE = "mcp__github__create_issue";
const READ = "mcp__my_files__fs_read_96379919";
const QUERY = "mcp__db__query";
const TOOLS = ["read_file", "terminal", GET, CREATE, READ, QUERY];

function read(dialect: AgentDialect, front: string, mcpServers: readonly string[] | undefined = SERVERS): ReadAgent {
  const text = `---\nname: probe\ndescription: Tries.\n${front}\n---\nGo.\n`;
  return readAgentFile({ file: "probe.md", text, dialect, scope: "user", checkRule: checkPattern, mcpServers });
}

function load(dialect: AgentDialect, front: string): AgentFile {
  const { agent, problems } = read(dialect, front);
  assert.ok(agent, JSON.stringify(problems));
  return agent;
}

function has(agent: AgentFile): string[] {
  return TOOLS.filter((name) => grants(agent, name) && !denies(agent, name));
}

suite("C1: of the tools of servers an agent has what its file names", () => {
  const ALL = TOOLS.filter((name) => name.startsWith("mcp__"));
  const rows: [dialect: AgentDialect, front: string, has: readonly string[]][] = [
    ["claude", "tools: Read, mcp__github__get_issue", ["read_file", GET]],
    ["claude", "tools: mcp__github", [GET, CREATE]],
    ["claude", "tools: mcp__github__*", [GET, CREATE]],
    ["claude", "tools: mcp__github__get_*", [GET]],
    ["claude", "tools: mcp__my files__*", []],
    ["claude", "tools: [mcp__my_files__*]", [READ]],
    ["claude", "tools: [mcp__my_files__fs/read]", [READ]],
    ["claude", "tools: [mcp__my_files__fs_read]", []],
    ["claude", "tools: [mcp__git]", []],
    ["claude", "tools: [mcp__github__get]", []],
    ["claude", "tools: [mcp__other__get_issue]", []],
    ["claude", "tools: Read\nmcpServers: [github]", ["read_file", GET, CREATE]],
    ["claude", "mcpServers: [github]\ntools: Read", ["read_file", GET, CREATE]],
    ["claude", "tools: Read\nmcpServers:\n  - my files\n  - db: { command: x }", ["read_file", READ]],
    ["claude", "mcpServers: [github]", TOOLS],
    ["claude", "disallowedTools: mcp__github", ["read_file", "terminal", READ, QUERY]],
    ["claude", "disallowedTools: [mcp__github__create_issue, mcp__db]", ["read_file", "terminal", GET, READ]],
    ["claude", "tools: mcp__github\ndisallowedTools: mcp__github__create_*", [GET]],
    ["claude", "disallowedTools: [mcp__my_files__fs_read]", ["read_file", "terminal", GET, CREATE, QUERY]],
    ["claude", "disallowedTools: ['mcp__my_files__fs/*']", ["read_file", "terminal", GET, CREATE, QUERY]],
    ["claude", 'disallowedTools: "*"', []],
    ["claude", "permissionMode: plan", ["read_file"]],
    ["claude", "permissionMode: dontAsk", ["read_file"]],
    ["claude", "isolation: worktree", ["read_file"]],
    ["claude", "hooks: { PreToolUse: [{ matcher: mcp__github__.* }] }", ["read_file", "terminal", READ, QUERY]],
    ["claude", "hooks: { PreToolUse: [{ matcher: mcp__.*__create.* }] }", ["read_file", "terminal", GET, READ, QUERY]],
    ["claude", 'hooks: { PreToolUse: [{ matcher: "mcp__[a-z]+__x" }] }', ["read_file", "terminal"]],
    ["sous", "tools: [read_file, mcp__db__query]", ["read_file", QUERY]],
    ["sous", "tools: []\nmcp_servers: [db]", [QUERY]],
    ["sous", "tools: [read_file]\nmcp_servers: db, github", ["read_file", GET, CREATE, QUERY]],
    ["sous", "deny: [mcp__db]", ["read_file", "terminal", GET, CREATE, READ]],
    ["gemini", "tools: [read_file, mcp_github_get_issue]", ["read_file", GET]],
    ["gemini", "tools: ['mcp_github_*']", [GET, CREATE]],
    ["gemini", "tools: ['mcp_*']", ALL],
    ["gemini", "tools: [github__get_issue]", [GET]],
    ["gemini", "tools: ['mcp_my_files_*', mcp__db__query]", [READ, QUERY]],
    ["opencode", "tools: { github_*: false }", ["read_file", "terminal", READ, QUERY]],
    ["opencode", "tools: { github_create_issue: false }", ["read_file", "terminal", GET, READ, QUERY]],
    ["opencode", "tools: { my_files_fs_read: false }", ["read_file", "terminal", GET, CREATE, QUERY]],
    ["opencode", 'tools: { "*": false, read: true, github_get_issue: true }', ["read_file", GET]],
    ["opencode", 'tools: { "*": false, "github_*": true, github_create_issue: false }', [GET]],
    ["opencode", 'tools: { "github_*": true, "*": false }', []],
    ["opencode", 'permission: { "*": deny, "db_*": ask }', [QUERY]],
    ["opencode", "tools: { github_*: false, github_get_issue: true }", ["read_file", "terminal", READ, QUERY]],
    ["opencode", "permission: { bash: deny }", ["read_file", GET, CREATE, READ, QUERY]],
  ];
  for (const [dialect, front, expected] of rows)
    test(`a file of ${dialect} with ${front.replaceAll("\n", " · ")} has exactly these tools`, () =>
      assert.deepEqual(has(load(dialect, front)), expected));
});

suite("C1: a server that is not configured", () => {
  test("a server that is not configured gives no tools, and never all: the warning names those there are, and the agent loads", () => {
    const { agent, problems } = read("claude", "tools: mcp__nowhere__get, mcp__gone");
    assert.deepEqual(agent === undefined ? undefined : has(agent), []);
    assert.deepEqual(
      problems.map(({ code, severity, message }) => `${severity} ${code} ${message}`),
      [
        "warning SOUS-A006 there is no MCP server for mcp__nowhere__get, mcp__gone__*: left out; configured are github, my files, db",
        "warning SOUS-A007 nothing is left: the agent has no tools",
      ],
    );
  });

  test("a server that is not configured is told for names in mcpServers and for every dialect", () => {
    const rows: [dialect: AgentDialect, front: string][] = [
      ["claude", "mcpServers: [nowhere]"],
      ["sous", "tools: [read_file]\nmcp_servers: [nowhere]"],
      ["gemini", "tools: [read_file, mcp_nowhere_get]"],
      ["opencode", 'tools: { "*": false, read: true, "nowhere_*": true }'],
    ];
    for (const [dialect, front] of rows) {
      const { agent, problems } = read(dialect, front);
      assert.ok(agent);
      assert.match(problems.map(({ message }) => message).join(), /there is no MCP server for .*nowhere/, dialect);
    }
  });

  test("no server is told as missing where it is not known which there are", () => {
    const { problems } = readAgentFile({
      file: "probe.md",
      text: "---\nname: probe\ndescription: Tries.\ntools: mcp__nowhere\n---\nGo.\n",
      dialect: "claude",
      scope: "user",
    });
    assert.deepEqual(problems, []);
  });

  test("a server that is not configured may be denied without a mistake", () => {
    assert.deepEqual(read("claude", "disallowedTools: mcp__nowhere").problems, []);
  });
});

test("C1: a server that an agent file defines is not started, and one warning says so", () => {
  const { agent, problems } = read(
    "claude",
    "mcpServers:\n  - playwright: { command: npx }\n  - other: { url: http://x }",
  );
  assert.ok(agent);
  assert.deepEqual(
    problems.map(({ message }) => message),
    ["playwright, other: servers are not started from agent files"],
  );
});

test("C1: slips of the pen in files of opencode are still refused, and names of servers are not", () => {
  assert.match(JSON.stringify(read("opencode", "tools: { web_fetch: false }").problems), /did you mean webfetch/);
  assert.deepEqual(read("opencode", "tools: { github_fetch: false }").problems, []);
});

test("C1: a call that a file of opencode asks about stays asked about, also where the user allows it", () => {
  const { rules } = load("opencode", "permission: { github_create_issue: ask }");
  assert.deepEqual(
    rules.map(({ effect, pattern }) => `${effect} ${pattern}`),
    ["ask mcp__github*create*issue"],
  );
});

test("C1: rules of our own files may name tools of servers", () => {
  const { rules } = load("sous", 'permissions: [{ deny: "mcp__github__delete_*" }]');
  assert.equal(rules[0]?.pattern, "mcp__github__delete_*");
});

function fake(name: string): Tool {
  return tool({
    name,
    description: "x",
    inputSchema: { type: "object" },
    execute: () => "done",
  });
}

test("B4: the definition has the granted tools, and denies by name what is there now and by pattern what comes later", () => {
  const tools = TOOLS.map(fake);
  const file = load("claude", "tools: Read, mcp__github, mcp__db\ndisallowedTools: mcp__github__create_*");
  const definition = toDefinition(file, { tools, delegates: false, rules: undefined });
  assert.deepEqual(
    (definition.tools as readonly Tool[]).map(({ name }) => name),
    ["read_file", GET, CREATE, QUERY],
  );
  assert.deepEqual(definition.deny, ["mcp__github__create_*", CREATE]);
  const later = toDefinition(file, {
    tools: [...tools, fake("mcp__github__create_repo")],
    delegates: false,
    rules: undefined,
  });
  assert.ok(later.deny?.includes("mcp__github__create_repo"));
  const none = toDefinition(load("claude", "tools: mcp__gone"), { tools, delegates: false, rules: undefined });
  assert.deepEqual(none.tools, []);
});

test("C1: tool_choice may name a tool of a server, and holds only where it is there", () => {
  const file = load("sous", `tools: [read_file, ${QUERY}]\ntool_choice: ${QUERY}`);
  assert.deepEqual(choiceAmong(file, [fake("read_file"), fake(QUERY)]), { tool: QUERY });
  assert.equal(choiceAmong(file, [fake("read_file")]), undefined);
});

test("C1: sous agents show lists what a file says about each configured server", () => {
  const servers = [
    { name: "github", agents: undefined, isDisabled: false },
    { name: "my files", agents: ["other"], isDisabled: false },
    { name: "db", agents: undefined, isDisabled: false },
    { name: "off", agents: undefined, isDisabled: true },
  ];
  const rowsOf = (front: string) =>
    toEffectiveRights(load("claude", front), OUR_TOOLS, servers)
      .tools.slice(OUR_TOOLS.length)
      .map(({ tool: name, isAllowed, from }) => `${isAllowed ? "+" : "-"}${name} ${from}`);
  assert.deepEqual(rowsOf("tools: Read, mcp__github__get_issue\ndisallowedTools: mcp__github__create_issue"), [
    "+mcp__github__get_issue probe.md:4 (mcp__github__get_issue)",
    "-mcp__github__create_issue probe.md:5 (mcp__github__create_issue)",
    "-mcp__db__* probe.md:4 (tools)",
  ]);
  assert.deepEqual(rowsOf("disallowedTools: mcp__db"), [
    "+mcp__github__* inherited",
    "-mcp__db__* probe.md:4 (mcp__db)",
  ]);
});

test("an entry concerns a server when it can name one of its tools", () => {
  const rows: [entry: string, server: string, is: boolean][] = [
    ["mcp__a__b", "a", true],
    ["mcp__a__*", "ab", false],
    ["mcp__*", "a", true],
    ["mcp_a_*", "a", true],
    ["mcp_a_b", "a_b", false],
    ["mcp_a_b_c", "a_b", true],
    ["mcp_a*", "ab", true],
    ["read_file", "a", false],
  ];
  for (const [entry, server, is] of rows) assert.equal(concernsServer(entry, server), is, `${entry} ${server}`);
});
