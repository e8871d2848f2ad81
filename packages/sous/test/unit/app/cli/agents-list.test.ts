/** The output of `sous agents`: lists, rights and problems, for people and as JSON. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

const withKeys = (keys: string) => `---\nname: writer\ndescription: Writes.\n${keys}---\nWrite.\n`;

test("E3: the list is shown with its agents, and says how many problems a check would show", async () => {
  for (const [keys, said] of [
    ["", ""],
    ["colour: red\n", "1 problem: sous agents check shows it\n"],
    ["colour: red\nshape: round\n", "2 problems: sous agents check shows them\n"],
  ] as const) {
    await using tree = await temporaryTree({ "work/": "", "config/sous/agents/writer.md": withKeys(keys) });
    const env = { HOME: tree.path, XDG_CONFIG_HOME: join(tree.path, "config"), XDG_STATE_HOME: tree.path };
    const { code, stdout, stderr } = await inProcess(["agents", "list"], { cwd: join(tree.path, "work"), env });
    assert.deepEqual([code, stderr], [0, said]);
    assert.match(stdout, /writer/);
  }
});

const stage = async (files: Record<string, string>) => {
  const tree = await temporaryTree({ "work/": "", ...files });
  const env = { HOME: tree.path, XDG_CONFIG_HOME: join(tree.path, "config"), XDG_STATE_HOME: tree.path };
  const options = { cwd: join(tree.path, "work"), env };
  return {
    ...tree,
    run: (...parameters: string[]) => inProcess(["agents", ...parameters], options),
  };
};

test("the list names the tools that are left to an agent", async () => {
  await using here = await stage({
    "config/sous/agents/a.md":
      "---\nname: a\ndescription: A.\ntools: [read_file, grep, glob]\ndeny: [grep]\n---\nGo.\n",
    "config/sous/agents/b.md": "---\nname: b\ndescription: B.\ntools: [grep]\ndeny: [grep]\n---\nGo.\n",
    "config/sous/agents/c.md": "---\nname: c\ndescription: C.\ndeny: [grep]\n---\nGo.\n",
  });
  const { stdout } = await here.run("list");
  assert.deepEqual(
    [...stdout.matchAll(/^(\w {2}.*) · inherit · user: /gm)].map((match) => match[1]),
    ["a  read_file glob", "b  no tools", "c  inherited tools without grep"],
  );
});

test("show names the rules of a file beside the tools, each with the place that says so", async () => {
  await using here = await stage({
    "config/sous/agents/writer.md": withKeys(
      'tools: [write_file, "terminal(git log*)"]\npermissions:\n  - deny: "write_file(src/**)"\n',
    ),
  });
  const { code, stdout } = await here.run("show", "writer");
  assert.equal(code, 0);
  const file = join(here.path, "config/sous/agents/writer.md");
  const row = (what: string) => stdout.split("\n").find((line) => line.startsWith(`  ${what} `));
  assert.match(row("write_file") ?? "", / yes +/);
  assert.match(row("grep") ?? "", / no +/);
  assert.ok(row("terminal(git log*)")?.endsWith(`  ${file}:4`), stdout);
  assert.match(row("terminal(git log*)") ?? "", / only +/);
  assert.match(row("write_file(src/**)") ?? "", / deny +/);
});

test("E3: show of an agent that is not loaded tells why, and of a name that is no agent which one was meant", async () => {
  await using here = await stage({
    "config/sous/agents/bad.md":
      "---\nname: bad\ndescription: Is bad.\nallowed-tools: Read\ncolour: red\n---\nDo it.\n",
    "config/sous/agents/writer.md": withKeys("colour: red\n"),
  });
  const bad = await here.run("show", "bad");
  assert.equal(bad.code, 3);
  assert.match(bad.stdout, /bad\.md:4:1: error SOUS-A004: /);
  assert.doesNotMatch(bad.stdout, /A005/);
  const json = await here.run("show", "bad", "--json");
  assert.equal(json.code, 3);
  const { schema, problems } = JSON.parse(json.stdout);
  assert.deepEqual([schema, problems.length, problems[0].code], ["sous.agents-check.v1", 1, "SOUS-A004"]);
  for (const [name, hint] of [
    ["d", "sous agents list shows all."],
    ["writr", "Did you mean writer?"],
  ] as const) {
    const { code, stdout, stderr } = await here.run("show", name);
    assert.deepEqual([code, stdout, stderr], [1, "", `error: Unknown agent "${name}". ${hint}\n`]);
  }
});

test("new --json says where the file is, and check --json that it has no problem", async () => {
  await using here = await stage({});
  const made = await here.run("new", "helper", "--user", "--json");
  assert.equal(made.code, 0);
  assert.deepEqual(JSON.parse(made.stdout), {
    schema: "sous.agents-new.v1",
    file: join(here.path, "config/sous/agents/helper.md"),
  });
  const checked = await here.run("check", "--json");
  assert.equal(checked.code, 0);
  assert.deepEqual(JSON.parse(checked.stdout), { schema: "sous.agents-check.v1", problems: [] });
});
