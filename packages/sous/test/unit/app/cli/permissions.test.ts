/** `sous permissions test` says of a command what the rules would do with it. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { permissions } from "../../../../src/app/cli/commands/permissions.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

test("B5.3: permissions test names the answer, the rule that decides and what is not understood", async () => {
  await using tree = await temporaryTree({
    "config/sous/config.yaml": 'permissions:\n  - deny: "terminal(git push*)"\n  - allow: "terminal(npm test*)"\n',
    "work/": "",
  });
  const env = { XDG_CONFIG_HOME: join(tree.path, "config"), HOME: tree.path };
  const ask = async (...parameters: string[]) => {
    const { stdout, code } = await inProcess(["permissions", "test", ...parameters, "--json"], {
      cwd: join(tree.path, "work"),
      env,
    });
    assert.equal(code, 0);
    const { answer, decided_by, understood, problem } = JSON.parse(stdout);
    return { answer, by: /^\w+ [^ ]*(?: [^ ]*\))?/.exec(decided_by)?.[0], understood, problem };
  };
  assert.deepEqual(await ask("npm test -- x"), {
    answer: "allow",
    by: "allow terminal(npm test*)",
    understood: true,
    problem: null,
  });
  assert.deepEqual(await ask("timeout 9 git push"), {
    answer: "deny",
    by: "deny terminal(git push*)",
    understood: true,
    problem: null,
  });
  const problem = "$ is expanded; only $HOME and $? are understood, and any $ in single quotes";
  assert.deepEqual(await ask("echo $X"), { answer: "ask", by: "deny terminal(git push*)", understood: false, problem });
  assert.deepEqual(await ask("echo $X", "--yes"), {
    answer: "deny",
    by: "deny terminal(git push*)",
    understood: false,
    problem,
  });
});

test("permissions test asks the rules about a tool of an MCP server, with the fields of its input", async () => {
  const rules = [
    'deny: "mcp__toy__delete_*"',
    'allow: "mcp__toy__create(owner=acme, repo=*)"',
    'allow: "mcp__toy__a_b_*"',
  ];
  await using tree = await temporaryTree({
    "config/sous/config.yaml": `mcp_servers: { toy: { command: x } }\npermissions:\n${rules.map((rule) => `  - ${rule}\n`).join("")}`,
    "work/": "",
  });
  const ask = (call: string) =>
    inProcess(["permissions", "test", call, "--json"], {
      cwd: join(tree.path, "work"),
      env: { XDG_CONFIG_HOME: join(tree.path, "config"), HOME: tree.path },
    });
  for (const [call, answer] of [
    ["mcp__toy__delete_all", "deny"],
    ["mcp__toy__create(owner=acme, repo=x)", "allow"],
    ['mcp__toy__create({"owner":"acme","repo":"a, b"})', "allow"],
    ["mcp__toy__create(owner=other, repo=x)", "tier"],
    ["mcp__toy__create", "tier"],
    ["mcp__toy__a.b", "allow"],
  ] as const) {
    assert.equal(JSON.parse((await ask(call)).stdout).answer, answer, call);
  }
  for (const [call, sentence] of [
    ["mcp__toy", /is not one tool: name it whole/],
    ["mcp__toy__*", /is not one tool/],
    ["mcp__tyo__create", /Unknown MCP server "tyo"; did you mean toy\?/],
    ["mcp__toy__create(acme)", /The input must be fields such as owner=acme/],
  ] as const) {
    const { code, stderr } = await ask(call);
    assert.equal(code, 2);
    assert.match(stderr, sentence);
  }
});

test("B5.3: permissions test tells a person the answer, who decided, why, and how every part was understood", async () => {
  await using tree = await temporaryTree({
    "config/sous/config.yaml": 'permissions:\n  - deny: "terminal(git push*)"\n  - allow: "terminal(npm test*)"\n',
    "work/": "",
  });
  const rules = join(tree.path, "config/sous/config.yaml");
  const deny = `deny terminal(git push*) (${rules}:2)`;
  const evaluates = "eval changes the shell or evaluates what it is given";
  const cases: [parameters: string[], lines: string[]][] = [
    [
      ["npm test  -- x*"],
      ["runs without a question", `decided by: allow terminal(npm test*) (${rules}:3)`, "part 1: npm test -- x*…"],
    ],
    [
      ["timeout 9 git push && ls < in.txt > out.txt"],
      [
        "refused",
        `decided by: ${deny}`,
        "part 1: timeout 9 git push  starts  git push",
        "part 2: ls",
        "reads: in.txt",
        "writes: out.txt",
      ],
    ],
    [
      ["ls; eval ls"],
      [
        "a person is asked; without one it is refused",
        `decided by: ${deny}`,
        `because: ${deny} holds, and this command is not understood: ${evaluates}`,
        `not understood: ${evaluates}`,
        "part 1: ls",
        "part 2: eval ls",
        `  not understood: ${evaluates}`,
      ],
    ],
    [
      ["make"],
      ["no rule decides: a person is asked, and without one it is refused", "decided by: no rule", "part 1: make"],
    ],
    [
      ["make", "--allow", "terminal(make*)"],
      ["runs without a question", "decided by: allow terminal(make*) (--allow)", "part 1: make"],
    ],
    [
      ["make 'a\u202eb'"],
      ["no rule decides: a person is asked, and without one it is refused", "decided by: no rule", "part 1: make ab"],
    ],
  ];
  const env = { XDG_CONFIG_HOME: join(tree.path, "config"), HOME: tree.path };
  await Promise.all(
    cases.map(async ([parameters, lines]) => {
      const said = await inProcess(["permissions", "test", ...parameters], { cwd: join(tree.path, "work"), env });
      assert.deepEqual([said.stdout.split("\n"), said.stderr, said.code], [[...lines, ""], "", 0]);
    }),
  );
});

test("B4.1: permissions test warns that the files of an untrusted project are not read, and judges without them", async () => {
  await using tree = await temporaryTree({
    "work/.sous/config.yaml": 'permissions:\n  - deny: "terminal(make*)"\n',
  });
  const env = { XDG_CONFIG_HOME: join(tree.path, "config"), HOME: tree.path };
  const said = await inProcess(["permissions", "test", "make", "--yes"], { cwd: join(tree.path, "work"), env });
  assert.equal(said.stdout, "runs without a question\ndecided by: --yes\npart 1: make\n");
  assert.match(
    said.stderr,
    /^warning: the files of the project .* are not read \(\.sous\), because it is not trusted;/,
  );
});

test("sous permissions says which word it takes, and which one it was given", async () => {
  for (const [parameters, found] of [
    [[], ""],
    [["tset"], '; found "tset"'],
  ] as const) {
    const said = `sous permissions takes test${found}. See sous permissions --help.`;
    await assert.rejects(permissions(parameters), { message: said, exitCode: 2 });
  }
});

test("a mistake in the configuration is shown to people, and with --json also told as an error", async () => {
  await using tree = await temporaryTree({ "work/bad.yaml": "agent:\n  max_turns: 0\n" });
  const parameters = ["permissions", "test", "make", "--config", "bad.yaml"];
  const options = { cwd: join(tree.path, "work"), env: { HOME: tree.path } };
  const plain = await inProcess(parameters, options);
  const json = await inProcess([...parameters, "--json"], options);
  assert.deepEqual([plain.code, plain.stdout, json.code], [3, "", 3]);
  assert.match(plain.stderr, /^error SOUS-C003 {2}bad\.yaml:2:14\n/);
  assert.equal(json.stderr, plain.stderr);
  const { schema, error } = JSON.parse(json.stdout);
  assert.deepEqual([schema, error.exit_code], ["sous.error.v1", 3]);
  assert.match(error.message, /max_turns/);
});
