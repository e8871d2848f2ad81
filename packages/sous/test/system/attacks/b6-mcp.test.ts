/** Attempts of MCP servers for which they need a process, each by its effect. The others are in the test of this name in `unit`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { VirtualClock } from "../../../src/testing/world.ts";
import { callTool, hostileWorld, isAlive, until } from "../../support/bridges/mcp/hostile.ts";
import type { Step } from "../../support/bridges/mcp/hostile-server.ts";

const OK = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"ok"}]}}';

function called(log: readonly Record<string, unknown>[], method: string): number {
  return log.filter((each) => each.method === method).length;
}

/** The answer to one call of a server whose call does these steps. */
async function answerTo(...steps: Step[]) {
  await using world = await hostileWorld();
  return await callTool(await world.open(world.server({ on: { "tools/call": steps } })));
}

const ENDED: [string, Step[], RegExp][] = [
  ["a line of 20 MB without an end", [{ bytes: 20 * 1024 * 1024 }], /a message of more than 10 MB/],
  ["half a frame, then death", [{ raw: '{"jsonrpc":"2.0","id":$ID,"resu' }, { die: 2 }], /ended with exit code 2/],
  ["death in a call", [{ die: 7 }], /ended with exit code 7 during the call; it said: out of luck/],
];
for (const [what, steps, expected] of ENDED) {
  test(`B6.1: ${what} is a failed result at once`, async () => {
    const { success, error = "" } = await answerTo(...steps);
    assert.equal(success, false);
    assert.match(error, expected);
  });
}

test("B6.1: a banner before the handshake and a flood on standard error are skipped, and the answer arrives", async () => {
  await using world = await hostileWorld();
  const banner = `Welcome!\n\u001b[2J${"=".repeat(100_000)}\n{"not":"a message"}\n`;
  const on = { "tools/call": [{ stderrBytes: 5_000_000 }, { raw: OK }] };
  assert.deepEqual(await callTool(await world.open(world.server({ banner, on }))), { success: true, output: "ok" });
});

for (const method of ["initialize", "tools/list"]) {
  test(`B6.1: a server that is silent at ${method} is a problem in words when its time is over, and others start`, async () => {
    const clock = new VirtualClock(0);
    await using world = await hostileWorld({ clock });
    const good = world.server({}, { name: "good", startTimeoutMs: 60_000 });
    const opening = world.open(world.server({ on: { [method]: [] } }), good);
    await until(
      () => called(world.log(), method) === 1 && called(world.log("good"), "tools/list") === 1,
      "both were asked",
    );
    clock.fireNext(() => 0);
    const { tools, problems, failed } = await opening;
    assert.deepEqual(failed, ["bad"]);
    assert.match(problems[0] ?? "", /^The MCP server bad could not be started: it did not answer within 30 seconds/);
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["mcp__good__echo"],
    );
    const [{ started } = {}] = world.log();
    assert.equal(isAlive(Number(started)), false);
  });
}

test("B6.1: a server that dies at its start is a problem that says what it said", async () => {
  await using world = await hostileWorld();
  const { tools, problems } = await world.open(world.server({ on: { initialize: [{ die: 9 }] } }));
  assert.deepEqual(tools, []);
  assert.deepEqual(problems, [
    "The MCP server bad could not be started: it ended with exit code 9; it said: out of luck",
  ]);
});

test("B6.4: a server sees none of our secrets in its variables", async () => {
  const names = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "GITHUB_TOKEN",
    "NPM_TOKEN",
    "DATABASE_URL",
  ];
  const more = ["SSH_AUTH_SOCK", "GOOGLE_API_KEY", "SLACK_TOKEN", "PGPASSWORD", "NODE_OPTIONS", "LD_PRELOAD"];
  const environment = Object.fromEntries([...names, ...more].map((name, index) => [name, `planted-${index}`]));
  await using world = await hostileWorld({ environment });
  const transport = world.server({}).transport;
  assert.ok(transport.type === "stdio");
  const server = world.server(
    { on: { "tools/call": [{ environment: true }] } },
    { transport: { ...transport, env: { MINE: "yes" } } },
  );
  const { output } = await callTool(await world.open(server));
  assert.equal(output.includes("planted-"), false);
  assert.equal(JSON.parse(output).MINE, "yes");
});

test("B6.1: a server that ignores its end, with a child that does so too, leaves no process", async () => {
  await using world = await hostileWorld();
  const opened = await world.open(world.server({ ignoresTerm: true, forks: true }));
  const pids = world.log().flatMap(({ started }) => (typeof started === "number" ? [started] : []));
  assert.deepEqual(pids.map(isAlive), [true, true]);
  await opened[Symbol.asyncDispose]();
  await until(() => pids.every((pid) => !isAlive(pid)), "both have ended");
});
