/** `sous/mcp`: tools of servers in code. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { agent } from "../../../../src/core/agent.ts";
import { UserError } from "../../../../src/core/errors.ts";
import { type McpServerOptions, mcpTools } from "../../../../src/mcp.ts";
import { run } from "../../../../src/runtime.ts";
import { calls, says, scriptedModel } from "../../../../src/testing.ts";
import { compiled } from "../../../support/app/cli/sous-process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";
import { callTool, isAlive, SERVER_FILE, until } from "../../../support/bridges/mcp/hostile.ts";

async function serverIn(script: object = {}) {
  const tree = await temporaryTree({ "server.json": JSON.stringify(script) });
  const env = { NODE_COMPILE_CACHE: compiled };
  const command = { command: process.execPath, args: [SERVER_FILE, join(tree.path, "server.json")], env };
  return { tree, command };
}

/** The processes that were servers. */
function startedIn(folder: string): number[] {
  const lines = readFileSync(join(folder, "server.json.log"), "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line).started).filter((pid) => pid !== undefined);
}

test("an agent calls a tool of a server when the call is approved, and not otherwise", async () => {
  const { tree, command } = await serverIn();
  await using _tree = tree;
  await using bad = await mcpTools({ bad: command }, { cwd: tree.path });
  for (const allow of [true, false]) {
    const model = scriptedModel({ lead: [calls("mcp__bad__echo", { a: 1 }), says("Done.")] });
    const lead = agent({ name: "lead", model, tools: [...bad.tools] });
    const outputs: string[] = [];
    const handle = run(lead, "Echo.", { approve: () => ({ allow }) });
    for await (const event of handle) if (event.type === "tool-call-end") outputs.push(event.output);
    assert.equal(outputs.length, 1);
    assert.equal(outputs[0]?.includes('ran echo {"a":1}'), allow);
  }
});

test("after tools of servers are disposed no process of theirs is left, in whichever way that was done", {
  skip: process.platform !== "linux",
}, async () => {
  const { tree, command } = await serverIn();
  await using _tree = tree;
  const children = () => readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").split(" ").sort();
  const before = children();
  for (const way of ["dispose", "using"]) {
    const bad = await mcpTools({ bad: command }, { cwd: tree.path });
    assert.ok(children().length > before.length);
    if (way === "dispose") await bad.dispose();
    else await bad[Symbol.asyncDispose]();
    assert.deepEqual(children(), before, "the server or its guard is still there");
  }
  assert.deepEqual(
    startedIn(tree.path).map((pid) => isAlive(pid)),
    [false, false],
  );
});

test("a server that cannot be started rejects in words, or is a problem when it is optional", async () => {
  const { tree, command } = await serverIn({ on: { initialize: [{ die: 5 }] } });
  await using _tree = tree;
  const words = "The MCP server bad could not be started: it ended with exit code 5; it said: out of luck";
  await assert.rejects(mcpTools({ bad: command }), { name: "UserError", message: words });
  await using optional = await mcpTools({ bad: command }, { optional: true });
  assert.deepEqual([optional.tools, optional.problems], [[], [words]]);
});

const REFUSED: [string, unknown, RegExp][] = [
  ["an unknown setting", { comand: "x", url: "https://example.com" }, /comand/],
  ["neither a command nor an address", {}, /set command to start a program, or url/],
  ["an address that is a file", { url: "file:///etc/passwd" }, /set command to start a program, or url/],
  ["an unknown type", { url: "https://example.com", type: "ftp" }, /type must be "http"/],
  ["a timeout of nothing", { command: "x", timeoutMs: 0 }, /timeoutMs must be a number of milliseconds/],
  ["a start of nothing", { command: "x", startTimeoutMs: "5s" }, /startTimeoutMs must be a number of milliseconds/],
  ["a misspelt command", { comand: "x" }, /has no option "comand": did you mean command\?/],
  ["a command and an address", { command: "x", url: "https://example.com" }, /has command and url/],
  ["a server that is a text", "node server.js", /must be an object with command or url/],
  ["a server that is nothing", null, /must be an object with command or url/],
  ["arguments in one text", { command: "x", args: "a b" }, /args must be a list of texts; found text/],
  [
    "a variable that is a number",
    { command: "x", env: { PORT: 3000 } },
    /env must be an object of texts; found a number for "PORT"/,
  ],
  ["tools in one text", { command: "x", tools: "echo" }, /tools must be a list of texts; found text/],
  [
    "headers in one text",
    { url: "https://example.com", headers: "A: b" },
    /headers must be an object of texts; found text/,
  ],
  ["a password in an address", { url: "https://me:secret@example.com" }, /^(?!.*secret).*write them into headers/],
];
for (const [what, server, expected] of REFUSED) {
  test(`${what} is refused before anything starts`, async () => {
    await assert.rejects(mcpTools({ bad: server as McpServerOptions }), (error) => {
      return error instanceof UserError && expected.test(error.message);
    });
  });
}

const NOT_SERVERS: [string, unknown, RegExp][] = [
  ["nothing", undefined, /takes servers by name/],
  ["a list", [{ command: "x" }], /takes servers by name/],
  ["all of .mcp.json", { mcpServers: { one: { command: "x" } } }, /below mcpServers in .mcp.json: pass that object/],
  ["a name that no server may have", { "a,b": { command: "x" } }, /must have a name of letters/],
  [
    "two names that are one",
    { "a b": { command: "x" }, a_b: { command: "x" } },
    /a b and a_b would both have tools named mcp__a_b__/,
  ],
];
for (const [what, servers, expected] of NOT_SERVERS) {
  test(`${what} in place of servers is refused before anything starts`, async () => {
    await assert.rejects(mcpTools(servers as Record<string, McpServerOptions>), (error) => {
      return error instanceof UserError && expected.test(error.message);
    });
  });
}

test("an entry of .mcp.json with its type is taken as it is, and the start has a limit of its own", async () => {
  const { tree, command } = await serverIn();
  await using _tree = tree;
  await using bad = await mcpTools({ bad: { type: "stdio", ...command, startTimeoutMs: 20_000 } }, { cwd: tree.path });
  assert.equal(bad.tools.length, 1);
  const silent = { command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"], startTimeoutMs: 200 };
  await assert.rejects(mcpTools({ silent }), /it did not answer within 0\.2 seconds/);
});

test("an approved tool is stored in the file, so that the server is not started to know its tools", async () => {
  const { tree, command } = await serverIn();
  await using _tree = tree;
  const options = { pinFile: join(tree.path, "pins.json") };
  await using one = await mcpTools({ bad: command }, options);
  await callTool(one);
  await using two = await mcpTools({ bad: command }, options);
  assert.equal(two.tools.length, 1);
  assert.equal(startedIn(tree.path).length, 1);
});

test("a program that forgets to dispose its tools ends all the same, and its server with it", async () => {
  const { tree, command } = await serverIn();
  await using _tree = tree;
  const door = join(import.meta.dirname, "../../../../src/mcp.ts");
  const program = `import { mcpTools } from ${JSON.stringify(door)};
    const { tools } = await mcpTools({ bad: ${JSON.stringify(command)} });
    console.log(tools.length);`;
  await writeFile(join(tree.path, "main.ts"), program);
  const { stdout } = await promisify(execFile)(process.execPath, [join(tree.path, "main.ts")], { timeout: 60_000 });
  assert.equal(stdout, "1\n");
  const [pid = 0] = startedIn(tree.path);
  await until(() => !isAlive(pid), "the server has ended");
});
