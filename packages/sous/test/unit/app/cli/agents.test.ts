/** `sous agents` and `sous trust` as people and scripts use them. */

import assert from "node:assert/strict";
import { lstat, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { loadAgents } from "../../../../src/app/cli/application/project.ts";
import { agents as agentsCommand } from "../../../../src/app/cli/commands/agents.ts";
import { toDefinition } from "../../../../src/app/config/agents/file.ts";
import { readAgentFile } from "../../../../src/app/config/agents/read.ts";
import { readProject } from "../../../../src/app/config/trust/files.ts";
import { readOnlyTools } from "../../../../src/app/tools/read-only.ts";
import type { ApprovalRequest } from "../../../../src/core/approval.ts";
import type { Run } from "../../../../src/core/run.ts";
import { decideByRules } from "../../../../src/runtime/loop/decide-by-rules.ts";
import { createPolicy, type FileRules, fileRules, type Policy } from "../../../../src/runtime/rights/policy.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

const REVIEWER =
  '---\nname: reviewer\ndescription: "Reviews\\e[31m code."\ntools: Read, Bash(git diff:*)\n---\nReview.\n';

async function stage(files: Record<string, string> = {}) {
  const tree = await temporaryTree({ "project/.git/HEAD": "", ...files });
  const env = { HOME: tree.path, XDG_CONFIG_HOME: join(tree.path, "config"), XDG_STATE_HOME: join(tree.path, "state") };
  const options = { cwd: join(tree.path, "project"), env };
  return {
    ...tree,
    root: options.cwd,
    run: (...parameters: string[]) => inProcess(parameters, options),
  };
}

test("a project is shown, trusted, used, and asked about again after a change", async () => {
  await using here = await stage({
    "project/.claude/agents/reviewer.md": REVIEWER,
    "project/.mcp.json": '{"mcpServers":{"db":{"command":"node","args":["\\u001b[31mserver.js"]}}}',
  });
  const refused = await here.run("trust");
  assert.equal(refused.code, 7);
  for (const said of [
    /\.claude\/agents\/reviewer\.md/,
    /reviewer: read_file terminal/,
    /node \$'\\x1b\[31mserver\.js'/,
  ])
    assert.match(refused.stdout, said);
  assert.ok(!refused.stdout.includes("\u001b"));
  assert.equal((await here.run("trust", "--yes")).code, 0);
  const shown = await here.run("agents", "show", "reviewer", "--json");
  const { rights } = JSON.parse(shown.stdout);
  assert.deepEqual(rights.rules, [
    { effect: "only", pattern: "terminal(git diff*)", from: ".claude/agents/reviewer.md:4" },
  ]);
  assert.equal(shown.stderr, "");
  await writeFile(join(here.root, ".mcp.json"), "{}");
  const changed = await here.run("agents", "show", "reviewer");
  assert.equal(changed.code, 1);
  assert.match(changed.stderr, /changed since it was trusted \(changed \.mcp\.json\)/);
  const again = await here.run("trust", "--yes");
  assert.match(again.stdout, /What has changed since it was trusted:\n {2}changed \.mcp\.json\nTrusted/);
});

test("E3: check tells every problem with file, line and column, and ends with 3 when an agent is not loaded", async () => {
  await using here = await stage({
    "project/good.md": "---\nname: good\ndescription: Is good.\ntools: [read_file]\n---\nDo it.\n",
    "project/.claude/agents/bad.md":
      "---\nname: bad\ndescription: Is bad.\nallowed-tools: Read\ncolour: red\n---\nDo it.\n",
  });
  const none = await here.run("agents", "check");
  assert.equal(none.stdout, "No agent file was read. sous agents check FILE looks at any file.\n");
  const bad = await here.run("agents", "check", ".claude/agents/bad.md", "good.md");
  assert.equal(bad.code, 3);
  assert.match(bad.stdout, /^\.claude\/agents\/bad\.md:4:1: error SOUS-A004: /m);
  assert.match(bad.stdout, /^\.claude\/agents\/bad\.md:5:1: warning SOUS-A005: /m);
  assert.doesNotMatch(bad.stdout, /good\.md/);
});

const LIMITS =
  "agent: { subagent: { max_total_tokens: 20000, max_executions: 5, max_total_time: 1m, max_total_cost: 2 } }\n";
const writer = (key: string): string => `---\nname: writer\ndescription: Writes.\n${key}\n---\nWrite.\n`;

test("show tells every limit of the configuration that holds for an agent, and who says so", async () => {
  await using here = await stage({
    "config/sous/config.yaml": LIMITS,
    "config/sous/agents/writer.md": writer("max_output_tokens: 2000"),
  });
  const shown = await here.run("agents", "show", "writer");
  const file = join(here.path, "config/sous/config.yaml");
  for (const [limit, setting] of [
    ["tokens of all children  at most 20000  ", "max_total_tokens"],
    ["money of all children   at most $2.0000", "max_total_cost"],
    ["time of all children    at most 1m00s  ", "max_total_time"],
    ["children started        at most 5      ", "max_executions"],
  ])
    assert.ok(shown.stdout.includes(`  ${limit}  ${file}:1 (agent.subagent.${setting})\n`), shown.stdout);
  assert.match(shown.stdout, /max_output_tokens +2000 /);
  const { limits, rights } = JSON.parse((await here.run("agents", "show", "writer", "--json")).stdout);
  assert.deepEqual(rights.maxOutputTokens.value, 2000);
  const from = { setting: "agent.subagent.max_total_cost", from: `${file}:1` };
  assert.deepEqual(limits[1], { of: "children", unit: "cost_usd", limit: 2, ...from });
});

test("show tells how the model is asked, and of provider_options only for whom they are", async () => {
  const lines = "temperature: 0.2\neffort: high\ntool_choice: grep\nprovider_options:\n  openai:\n    user: s3cret";
  await using here = await stage({ "config/sous/agents/writer.md": writer(lines) });
  const shown = await here.run("agents", "show", "writer");
  for (const row of [/temperature +0\.2 /, /effort +high /, /tool_choice +grep /, /provider_options +for openai /])
    assert.match(shown.stdout, row);
  const json = await here.run("agents", "show", "writer", "--json");
  const { asking } = JSON.parse(json.stdout).rights;
  assert.deepEqual(
    asking.map(({ key, value }: { key: string; value: string }) => [key, value]),
    [
      ["temperature", "0.2"],
      ["effort", "high"],
      ["tool_choice", "grep"],
      ["provider_options", "for openai"],
    ],
  );
  const listed = await here.run("agents", "list", "--json");
  for (const { stdout, stderr } of [shown, json, listed]) assert.doesNotMatch(stdout + stderr, /s3cret/);
});

test("check warns of an agent whose call takes more than a quarter of the tokens of all children", async () => {
  await using here = await stage({
    "config/sous/config.yaml": LIMITS,
    "config/sous/agents/writer.md": writer("max_output_tokens: 8000"),
    "project/small.md": writer("max_output_tokens: 5000"),
  });
  const all = await here.run("agents", "check");
  assert.equal(all.code, 0);
  assert.equal(
    all.stdout.replaceAll(`${here.path}/`, ""),
    "config/sous/agents/writer.md:4:1: warning SOUS-A010: one call reserves 8000 tokens for its answer, more than a quarter of agent.subagent.max_total_tokens (20000): few children can ask at once, and the others wait\n" +
      "   fix   write `max_output_tokens: 5000` or less, or raise agent.subagent.max_total_tokens to 32000 or more\n",
  );
  assert.equal((await here.run("agents", "check", "small.md")).stdout, "The agent files have no mistakes.\n");
});

test("an agent is shown although the configuration has mistakes: its limits are said to be unknown", async () => {
  await using here = await stage({
    "config/sous/config.yaml": "agent: { subagent: { max_total_tokens: many } }\n",
    "config/sous/agents/writer.md": writer("max_output_tokens: 8000"),
  });
  for (const parameters of [["show", "writer"], ["check"]]) {
    const { code, stderr } = await here.run("agents", ...parameters);
    assert.equal(code, 0);
    assert.match(
      stderr,
      /^warning: the limits of the configuration are not known, because it has mistakes \(.*:1:\d+\): /,
    );
  }
});

test("new writes a private file that loads as it is, and replaces nothing", async () => {
  await using here = await stage();
  const first = await here.run("agents", "new", "scout", "--user");
  assert.equal(first.code, 0);
  const file = join(here.path, "config/sous/agents/scout.md");
  assert.equal((await lstat(file)).mode & 0o777, 0o600);
  const text = await readFile(file, "utf8");
  assert.deepEqual(readAgentFile({ file, text, dialect: "sous", scope: "user" }).problems, []);
  assert.equal((await here.run("agents", "new", "scout", "--user")).code, 1);
  assert.equal(await readFile(file, "utf8"), text);
  const outside = join(here.path, "outside");
  await mkdir(outside);
  await symlink(outside, join(here.root, ".sous"));
  const refused = await here.run("agents", "new", "scout");
  assert.deepEqual([refused.code, /\.sous is not a folder\n$/.test(refused.stderr)], [1, true], refused.stderr);
  assert.equal(await lstat(join(outside, "agents")).catch(() => "none"), "none");
});

suite("words that sous agents does not take are usage", () => {
  for (const parameters of [[], ["lst"], ["show"], ["show", "a", "b"], ["list", "x"], ["new"], ["list", "--user"]]) {
    test(`sous ${["agents", ...parameters].join(" ")} is a mistake of usage`, async () => {
      await assert.rejects(agentsCommand(parameters), { name: "CommandError", exitCode: 2 });
    });
  }
});

const request = (agent: string, toolName: string, input: unknown, above = ["sous"]): ApprovalRequest => ({
  runId: "run-1",
  path: `sous/${agent}`,
  callId: "call-1",
  agent,
  above,
  toolName,
  input,
  cwd: "/work",
});

/** As the loop decides: one run for each agent of the request, and those of the file's name have its rules. */
function decideFor(name: string, file: FileRules | undefined, users: Policy) {
  return (asked: ApprovalRequest) => {
    let run: unknown;
    for (const each of [...asked.above, asked.agent])
      run = { tree: { rules: users }, profile: { rules: each === name ? file : undefined }, parent: run };
    return decideByRules(asked, run as Run);
  };
}

suite("H3: the rules of a file hold for the calls of its agent, and the stricter answer counts", async () => {
  const text = [
    "---",
    "name: historian",
    "description: Knows.",
    'tools: ["terminal(git log*)", "terminal(git diff*)", write_file]',
    "permissions:",
    '  - deny: "write_file(src/**)"',
    '  - ask: "write_file(docs/**)"',
    "---",
    "Tell.",
  ].join("\n");
  const { agent } = readAgentFile({ file: "historian.md", text, dialect: "sous", scope: "project" });
  assert.ok(agent !== undefined);
  const remembered = new Map();
  const users = createPolicy({
    remembered,
    rules: [
      { effect: "allow", pattern: "terminal(git*)", origin: "user" },
      { effect: "allow", pattern: "write_file", origin: "user" },
      { effect: "deny", pattern: "terminal(git log --all*)", origin: "user" },
    ],
  });
  const decide = decideFor("historian", fileRules(agent, { remembered }), users);
  const command = (line: string, name = "historian") => decide(request(name, "terminal", { command: line }))?.effect;
  const write = (path: string, name = "historian") =>
    decide(request(name, "write_file", { path, content: "" }))?.effect;

  test("a command among those of the file is as allowed as the user made it", () => {
    assert.equal(command("git log -3"), "allow");
    assert.equal(command("git diff"), "allow");
  });
  for (const line of [
    "git push",
    "git log; rm -rf .",
    "git log && git push",
    "git log $(touch x)",
    "git log | sh",
    "git log > out",
    "env -i git log",
    "rm -rf .",
    "git log --all",
  ]) {
    test(`the rules of a file deny: ${line}`, () => assert.equal(command(line), "deny"));
  }
  test("files are denied, asked about, or left to the user", () => {
    assert.deepEqual(
      ["src/a.ts", "docs/a.md", "notes.txt"].map((path) => write(path)),
      ["deny", "ask", "allow"],
    );
  });
  test("other agents are not held to the rules of a file", () => {
    assert.equal(command("git push", "sous"), "allow");
    assert.equal(write("src/a.ts", "sous"), "allow");
  });
  test("--yes allows what the rules of a file ask about and nothing that they deny", async () => {
    const users = createPolicy({ rules: [], allowsAll: true });
    const all = decideFor("historian", fileRules(agent, { allowsAll: true }), users);
    const effect = (path: string) => all(request("historian", "write_file", { path, content: "" }))?.effect;
    assert.deepEqual(["src/a.ts", "docs/a.md", "notes.txt"].map(effect), ["deny", "allow", "allow"]);
    assert.equal(all(request("historian", "terminal", { command: "git push" }))?.effect, "deny");
  });
  test("an answer that was to be remembered is remembered", () => {
    const rule = { effect: "allow", pattern: "write_file(docs/b.md)", origin: "answer" } as const;
    users.remember(rule, { agent: "historian", above: ["sous"] });
    assert.equal(write("docs/b.md"), "allow");
    assert.equal(write("docs/c.md"), "ask");
  });
  test("B1.1: everything below an agent is held to the rules of its file, whatever its name", () => {
    for (const above of [["sous", "historian"], ["sous", "historian", "subagent"], ["historian"]]) {
      const below = (toolName: string, input: object) => decide(request("subagent", toolName, input, above))?.effect;
      assert.equal(below("terminal", { command: "git push" }), "deny");
      assert.equal(below("terminal", { command: "git log -3" }), "allow");
      assert.deepEqual(
        ["src/a.ts", "docs/a.md", "notes.txt"].map((path) => below("write_file", { path, content: "" })),
        ["deny", "ask", "allow"],
      );
    }
  });
  test("B1.1: an answer that is remembered for a child holds for no agent of another name or in another place", () => {
    const rule = { effect: "allow", pattern: "write_file(docs/d.md)", origin: "answer" } as const;
    users.remember(rule, { agent: "subagent", above: ["sous", "historian"] });
    const write = (agent: string, above: string[]) =>
      decide(request(agent, "write_file", { path: "docs/d.md", content: "" }, above))?.effect;
    assert.equal(write("subagent", ["sous", "historian"]), "allow");
    assert.equal(write("historian", ["sous"]), "ask");
    assert.equal(write("subagent", ["sous", "historian", "subagent"]), "ask");
    assert.equal(write("other", ["sous", "historian"]), "ask");
  });
});

test("C1: agents of files become definitions with the tools there are", async () => {
  await using here = await stage({
    "project/.sous/agents/a.md":
      "---\nname: a\ndescription: A.\ntools: [read_file, terminal]\nmodel: inherit\nmax_turns: 3\n---\nGo.\n",
    "project/.sous/agents/b.md": "---\nname: b\ndescription: B.\ndeny: [grep]\n---\n",
  });
  const env = { XDG_CONFIG_HOME: join(here.path, "config") };
  const { agents } = await loadAgents({ cwd: here.root, env }, await readProject(here.root), undefined);
  const notes = { facts: "Facts.", whole: "Facts and notes." };
  const [a, b] = agents.map((file) =>
    toDefinition(file, { tools: readOnlyTools(), delegates: true, notes, rules: undefined }),
  );
  const names = (definition: typeof a) =>
    Array.isArray(definition?.tools) ? definition.tools.map(({ name }) => name) : undefined;
  assert.deepEqual([a?.name, names(a), a?.model, a?.maxTurns], ["a", ["read_file"], undefined, 3]);
  assert.deepEqual([b?.name, names(b), b?.deny, b?.instructions], ["b", undefined, ["grep"], undefined]);
});

test("B1.1: an agent file does not widen what was typed: --tools holds for its agent, too", async () => {
  await using here = await stage({
    "config/sous/agents/shell.md": "---\nname: shell\ndescription: Runs.\ntools: [terminal]\n---\nRun.\n",
  });
  const marker = join(here.path, "marker");
  const script = {
    sous: [{ calls: [{ tool: "subagent_shell", input: { task: "Run it." } }] }, { text: "Done." }],
    "**": [{ calls: [{ tool: "terminal", input: { command: `touch ${marker}` } }] }, { text: "Ran." }],
  };
  await writeFile(join(here.root, "answers.json"), JSON.stringify(script));
  const ended = await here.run(
    "run",
    "Go.",
    "--model",
    "script/answers.json",
    "--tools",
    "read_file",
    "--yes",
    "--ephemeral",
  );
  assert.equal(ended.stdout.trim(), "Done.");
  assert.equal(await lstat(marker).catch(() => "none"), "none");
});

test("B1.1: single calls and denied tools of a file hold for redirections of its commands, too", async () => {
  const read = (lines: string[]) => {
    const text = ["---", "name: helper", "description: x", ...lines, "---", "Help."].join("\n");
    const { agent } = readAgentFile({ file: "helper.md", text, dialect: "sous", scope: "user" });
    assert.ok(agent !== undefined);
    return agent;
  };
  const effectOf = async (lines: string[], line: string) => {
    const users = createPolicy({ rules: [], allowsAll: true });
    const decide = decideFor("helper", fileRules(read(lines), { allowsAll: true }), users);
    return decide(request("helper", "terminal", { command: line }))?.effect;
  };
  const single = ['tools: ["write_file(src/**)", terminal]'];
  assert.equal(await effectOf(single, "echo x > marker"), "deny");
  assert.equal(await effectOf(single, "echo x > src/a"), "allow");
  assert.equal(await effectOf(["deny: [write_file]"], "echo x > marker"), "deny");
  assert.equal(await effectOf(["deny: [write_file]"], "echo x"), "allow");
});
