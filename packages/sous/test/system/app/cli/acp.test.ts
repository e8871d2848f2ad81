/** `sous acp list` and `sous acp check`, and what `sous doctor` says about agent servers. */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { type Ended, inProcess } from "../../../support/app/cli/in-process.ts";

const folder = mkdtempSync(join(tmpdir(), "sous-acp-"));
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
const TOY = join(import.meta.dirname, "toy-agent.mjs");
const KEY = "toy-key-0123456789abcdef";

const SERVERS = {
  "Toy Agent": {
    type: "custom",
    command: process.execPath,
    args: [TOY, "good"],
    env: { TOY_API_KEY: KEY },
    default_mode: "plan",
    default_model: "large",
    max_cost: 1,
  },
  dies: { command: process.execPath, args: [TOY, "dies"] },
  locked: { command: process.execPath, args: [TOY, "locked"] },
  new: { command: process.execPath, args: [TOY, "new"] },
  odd: { command: process.execPath, args: [TOY, "good"], default_mode: "yolo" },
  gone: { command: "no-such-agent-here" },
};

/** With these servers, in the user's own configuration. */
function sous(parameters: readonly string[], servers: Readonly<Record<string, object>> = SERVERS): Promise<Ended> {
  const config = join(folder, "config", "sous");
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, "config.yaml"), JSON.stringify({ agent_servers: servers }, undefined, 1));
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, "config"),
    XDG_DATA_HOME: join(folder, "data"),
    XDG_STATE_HOME: join(folder, "state"),
  };
  mkdirSync(join(folder, "work"), { recursive: true });
  return inProcess(parameters, { cwd: join(folder, "work"), env });
}

suite("sous acp list", () => {
  test("sous acp list names every server, its command, where it comes from, and whether it is found", async () => {
    const { code, stdout } = await sous(["acp", "list"]);
    assert.equal(code, 0);
    const [head, command] = stdout.split("\n");
    assert.equal(head, "Toy Agent  external/toy-agent  found");
    assert.ok(command?.startsWith(`  ${process.execPath} `), command);
    assert.match(stdout, /^gone {2}external\/gone {2}not found\n {2}no-such-agent-here · \S*config\.yaml:\d+$/m);
  });

  test("sous acp list --json has the same without the variables", async () => {
    const { stdout } = await sous(["acp", "list", "--json"]);
    const { schema, servers } = JSON.parse(stdout);
    assert.equal(schema, "sous.acp-list.v1");
    const { from, ...toy } = servers[0];
    assert.deepEqual(toy, {
      name: "Toy Agent",
      model_name: "external/toy-agent",
      command: process.execPath,
      args: [TOY, "good"],
      program: process.execPath,
      default_mode: "plan",
      model: "large",
      timeout_ms: 1_800_000,
      max_cost_usd: 1,
    });
    assert.match(from, /config\.yaml:\d+$/);
    assert.ok(!stdout.includes(KEY) && !stdout.includes("TOY_API_KEY"));
  });

  test("sous acp list says what to do when there are none", async () => {
    const { code, stdout } = await sous(["acp", "list"], {});
    assert.deepEqual(
      [code, stdout],
      [0, "No agent server is configured: add one to agent_servers in your configuration.\n"],
    );
  });
});

suite("sous acp check", () => {
  test("sous acp check starts a server and says what it can do", async () => {
    const { code, stdout, stderr } = await sous(["acp", "check", "Toy Agent"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^Toy Agent\n/);
    assert.match(stdout, /\n {2}handshake {2}\d+ ms\n {2}protocol {3}1\n {2}agent {6}toy 1\.2\.3\n/);
    assert.match(
      stdout,
      /\n {2}modes {6}ask, plan \(configured: plan\)\n {2}models {5}small, large \(configured: large\)\n/,
    );
  });

  test("sous acp check takes --json, and a server by its short name", async () => {
    const { code, stdout } = await sous(["acp", "check", "toy-agent", "--json"]);
    const { handshake_ms, ...rest } = JSON.parse(stdout);
    assert.equal(code, 0);
    assert.ok(handshake_ms > 0);
    assert.deepEqual(rest, {
      schema: "sous.acp-check.v1",
      name: "Toy Agent",
      ok: true,
      problem: null,
      program: process.execPath,
      protocol_version: 1,
      agent: { name: "toy", version: "1.2.3" },
      capabilities: { load: true },
      modes: ["ask", "plan"],
      models: ["small", "large"],
    });
  });

  const WRONG: readonly [name: string, sentence: RegExp][] = [
    ["gone", /^error: The program no-such-agent-here of the agent server gone is not found in PATH/],
    ["dies", /^error: The agent server dies .*no licence found/],
    ["locked", /^error: The agent server locked refused session\/new: Authentication required\. Sign in with its own/],
    ["new", /^error: The agent server new speaks version 9 of the protocol, not 1: update one of the two/],
    ["odd", /^error: The agent server odd has no mode "yolo"; it offers: "ask", "plan"/],
  ];
  for (const [name, sentence] of WRONG) {
    test(`sous acp check of the server ${name} says one sentence and ends with 1`, async () => {
      const { code, stderr } = await sous(["acp", "check", name]);
      assert.equal(code, 1);
      assert.match(stderr, sentence);
    });
  }

  test("an unknown name is told with the known ones, and a missing one is a mistake of usage", async () => {
    const unknown = await sous(["acp", "check", "codex"], { claude: { command: "x" } });
    assert.deepEqual(
      [unknown.code, unknown.stderr],
      [1, 'error: Unknown agent server "codex"; agent_servers has: claude\n'],
    );
    assert.equal((await sous(["acp", "check"])).code, 2);
    const other = await sous(["acp", "lst"]);
    assert.deepEqual(
      [other.code, other.stderr],
      [2, 'error: sous acp takes list, check NAME or serve; found "lst". See sous acp --help.\n'],
    );
  });
});

test("sous doctor has a line for each server: the time of its handshake, or what is wrong", async () => {
  const { "Toy Agent": toy, dies, gone } = SERVERS;
  const { stdout } = await sous(["doctor", "--json"], { "Toy Agent": toy, dies, gone });
  const { checks } = JSON.parse(stdout);
  const about = (name: string) => checks.find((each: { name: string }) => each.name === `agent ${name}`);
  assert.equal(about("Toy Agent").state, "ok");
  assert.match(about("Toy Agent").found, /^toy 1\.2\.3 answers after \d+ ms$/);
  assert.equal(about("dies").state, "problem");
  assert.match(about("dies").found, /no licence found/);
  assert.match(about("gone").found, /is not found in PATH/);
  assert.equal(about("gone").fix, "sous acp check gone shows more");
});
