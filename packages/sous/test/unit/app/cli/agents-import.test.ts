/** Agent files of other programs: copied by `sous agents import`, or read where they are by `agents.also_read`. */

import assert from "node:assert/strict";
import { lstat, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { agentStage, DONE } from "../../../support/app/cli/agent-stage.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

const STRICT = "---\nname: strict\ndescription: Reads: all of it\ndisallowedTools: Bash\n---\nRead.\n";
const DOCS = "---\ndescription: Writes docs.\nmode: subagent\npermission:\n  bash: deny\n---\nWrite.\n";
const HOOKED =
  "---\nname: hooked\ndescription: Is watched.\ntools: Read, Bash\nhooks:\n  PreToolUse:\n    - matcher: Bash\n---\nGo.\n";

async function stage(files: Record<string, string>) {
  const tree = await temporaryTree({ "work/": "", ...files });
  const env = { HOME: tree.path, XDG_CONFIG_HOME: join(tree.path, "config"), XDG_STATE_HOME: join(tree.path, "state") };
  return {
    ...tree,
    agents: join(tree.path, "config/sous/agents"),
    run: (...parameters: string[]) => inProcess(["agents", ...parameters], { cwd: join(tree.path, "work"), env }),
  };
}

test("C1: import copies the files of three programs, and each keeps the rights of its dialect", async () => {
  await using here = await stage({
    ".claude/agents/team/strict.md": STRICT,
    ".gemini/agents/shell.md": "---\nname: shell\ndescription: Runs.\ntools: [run_shell_command]\n---\nRun.\n",
    ".gemini/agents/deep/never.md": STRICT,
    "config/opencode/agent/docs/writer.md": DOCS,
  });
  assert.equal((await here.run("import")).code, 7);
  assert.equal(await lstat(here.agents).catch(() => "none"), "none");
  const { code, stdout } = await here.run("import", "--yes");
  assert.equal(code, 0);
  assert.match(stdout, /3 files copied\.\n$/);
  const { agents } = JSON.parse((await here.run("list", "--json")).stdout);
  assert.deepEqual(
    agents.map((agent: Record<string, unknown>) => [agent.name, agent.dialect, agent.scope, agent.tools, agent.deny]),
    [
      ["strict", "claude", "user", null, ["terminal"]],
      ["shell", "gemini", "user", ["terminal"], []],
      ["docs-writer", "opencode", "user", null, ["terminal"]],
    ],
  );
  assert.equal((await lstat(join(here.agents, "from-claude/team/strict.md"))).mode & 0o777, 0o600);
});

test("import replaces nothing with --yes, copies the same file once, and takes --from", async () => {
  await using here = await stage({ ".claude/agents/strict.md": STRICT, "config/opencode/agents/writer.md": DOCS });
  const first = await here.run("import", "--from", "claude", "--yes", "--json");
  const { schema, copied } = JSON.parse(first.stdout);
  assert.deepEqual([schema, copied.length], ["sous.agents-import.v1", 1]);
  assert.equal(await lstat(join(here.agents, "from-opencode")).catch(() => "none"), "none");
  assert.match((await here.run("import", "--from", "claude", "--yes")).stdout, /^Everything was copied before\./);
  await writeFile(join(here.path, ".claude/agents/strict.md"), `${STRICT}More.\n`);
  const again = await here.run("import", "--from", "claude", "--yes");
  assert.match(again.stderr, /^Not replaced: 1 file of yours/m);
  assert.equal(await readFile(join(here.agents, "from-claude/strict.md"), "utf8"), STRICT);
  assert.equal((await here.run("import", "--from", "codex", "--yes")).code, 2);
  assert.equal((await here.run("list", "--yes")).code, 2);
});

test("sous agents import says where it looked when no such folders are there", async () => {
  await using here = await stage({});
  const { code, stdout } = await here.run("import", "--yes");
  assert.equal(code, 0);
  assert.match(stdout, /^No agent files were found in .*\.claude\/agents, .*\.gemini\/agents, .*opencode\/agent, /);
});

test("B5.1: nothing outside is read unasked, and agents.also_read reads what it lists in its dialect", async () => {
  const files = { ".claude/agents/strict.md": STRICT, "team/other.md": STRICT.replace("name: strict", "name: other") };
  await using without = await stage(files);
  assert.match((await without.run("list")).stdout, /^There are no agents/);
  await using here = await stage({
    ...files,
    "config/sous/config.yaml": 'agents: { also_read: ["~/.claude/agents", "claude:~/team", "~/nowhere"] }\n',
  });
  const { stdout, stderr } = await here.run("list");
  assert.match(stdout, /^strict {2}inherited tools without terminal/m);
  assert.match(stdout, /^other {2}inherited tools without terminal/m);
  assert.match(stderr, /problems: sous agents check/);
  assert.match((await here.run("check")).stdout, /nowhere:1:1: warning SOUS-A001: the folder is not there/);
});

test("agents.ignore_hooks leaves the tools that a hook watches, by name, file or folder; check says so", async () => {
  for (const [entry, has] of [
    ["", false],
    ["other", false],
    ["hooked", true],
    [".claude/agents/hooked.md", true],
    [".claude/agents/", true],
    [".claude/age", false],
  ] as const) {
    await using here = await agentStage({
      "project/.claude/agents/hooked.md": HOOKED,
      ...(entry === "" ? {} : { "config/sous/config.yaml": `agents: { ignore_hooks: ["${entry}"] }\n` }),
    });
    await here.trust();
    const { rights } = JSON.parse((await here.command("agents", "show", "hooked", "--json")).stdout);
    const terminal = rights.tools.find((each: { tool: string }) => each.tool === "terminal");
    assert.equal(terminal.isAllowed, has, entry);
    const checked = await here.command("agents", "check");
    assert.match(
      checked.stdout,
      has ? /agents\.ignore_hooks leaves the tools/ : /tools that a hook can refuse are left out/,
    );
  }
});

test("a project cannot ignore hooks or name folders to read", async () => {
  await using here = await agentStage({
    "project/.claude/agents/hooked.md": HOOKED,
    "project/.sous/config.yaml": 'agents: { ignore_hooks: [hooked], also_read: ["/"] }\n',
  });
  await here.trust();
  const { rights } = JSON.parse((await here.command("agents", "show", "hooked", "--json")).stdout);
  assert.equal(rights.tools.find((each: { tool: string }) => each.tool === "terminal").isAllowed, false);
});

test("E3: a run says one line about agent files, however many have problems", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      `project/.claude/agents/a${index}.md`,
      `---\nname: a${index}\ndescription: Of it: yes\ntools: Read, WebSearch\nmodel: opus\n---\nGo.\n`,
    ]),
  );
  await using here = await agentStage({
    ...files,
    "project/.claude/agents/broken.md": "---\nname: broken\ntools: [Read\n---\nGo.\n",
  });
  await here.trust();
  const { warnings } = await here.run({ sous: DONE });
  assert.deepEqual(warnings, ["warning: 1 agent file is not loaded, 90 notes: sous agents check"]);
  const checked = await here.command("agents", "check");
  assert.equal(checked.code, 3);
  const listed = checked.stdout.split("\n").flatMap((line) => /^(\S+?):\d+:\d+: /.exec(line)?.[1] ?? []);
  const groups = listed.filter((file, index) => file !== listed[index - 1]);
  assert.equal(new Set(groups).size, groups.length);
});

test("E3: the list says that files are there when none of them can be used", async () => {
  await using here = await stage({ "config/sous/agents/bad.md": "---\nname: bad\ntools: [Read\n---\nGo.\n" });
  const { stdout } = await here.run("list");
  assert.equal(
    stdout,
    "No agent is loaded: one file is there and cannot be used as they are.\n".replace("they are", "it is"),
  );
});
