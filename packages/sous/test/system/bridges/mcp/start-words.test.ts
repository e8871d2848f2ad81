/** The words about a server that ends before it has answered: how it ended, and the line in which it says why. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { checkMcpServer } from "../../../../src/bridges/mcp/open.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { hostileWorld, until, type World } from "../../../support/bridges/mcp/hostile.ts";

async function problemOf(world: World, script: string): Promise<string | undefined> {
  const server = world.server({}, { startTimeoutMs: 30_000 });
  const transport = { type: "stdio" as const, command: "/bin/sh", args: ["-c", script], env: {}, cwd: world.folder };
  return (await checkMcpServer({ ...server, transport }, world.ground)).problem;
}

test("a server that stops reading before it ends is said to have ended", async () => {
  await using world = await hostileWorld();
  const problem = await problemOf(world, "exec 0<&-; echo 'no key' >&2; sleep 0.05; exit 3");
  assert.equal(problem, "The MCP server bad could not be started: it ended with exit code 3; it said: no key");
});

test("the reason is found before a long list and the version that Node prints last", async () => {
  await using world = await hostileWorld();
  const script = `echo 'Error: Could not locate the bindings file. Tried:' >&2
    for n in 1 2 3 4 5 6 7 8; do for m in 1 2 3 4 5 6 7 8; do echo "  /a/long/path/to/a/file/that/is/not/there/$n$m" >&2; done; done
    printf '}\\n\\nNode.js v24.0.0\\n' >&2; exit 1`;
  assert.equal(
    await problemOf(world, script),
    "The MCP server bad could not be started: it ended with exit code 1; it said: Error: Could not locate the bindings file. Tried:",
  );
});

test("the reason is found in the middle of a trace, and a place in the code is no reason", async () => {
  await using world = await hostileWorld();
  const place = "    at lookup (node:dns:122:26)";
  const cause = `printf 'Caused by: Error: getaddrinfo ENOTFOUND a.example\\n${place}\\n${place}\\n' >&2; exit 1`;
  assert.match((await problemOf(world, cause)) ?? "", /it said: Caused by: Error: getaddrinfo ENOTFOUND a\.example$/);
  const plain = `printf 'no key\\n${place}\\n}\\n\\nNode.js v24.0.0\\n' >&2; exit 1`;
  assert.match((await problemOf(world, plain)) ?? "", /it said: no key$/);
});

test("a server that never answers is quoted with what it said before we ended it", async () => {
  const clock = new VirtualClock(0);
  await using world = await hostileWorld({ clock });
  const said = join(world.folder, "said");
  const script = `echo 'listening on port 3333' >&2; touch '${said}'; while read -r line; do :; done; echo 'shutdown complete' >&2`;
  const problem = problemOf(world, script);
  await until(() => existsSync(said), "the server has said it");
  await setImmediate();
  clock.fireNext(() => 0);
  assert.equal(
    await problem,
    "The MCP server bad could not be started: it did not answer within 30 seconds; it said: listening on port 3333",
  );
});
