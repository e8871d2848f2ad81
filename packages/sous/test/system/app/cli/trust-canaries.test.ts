/** Before trust nothing of a hostile repository is opened and no program is started. Pipes tell who opened them. */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { constants, existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, open, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { findTrust, loadAgents, trustWarning } from "../../../../src/app/cli/application/project.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { temporaryTree } from "../../../support/app/tools/temporary-tree.ts";

const CANARIES = [
  ".env",
  ".envrc",
  ".git/commondir",
  ".git/config",
  ".git/HEAD",
  ".git/hooks/post-checkout",
  ".gitignore",
  ".ignore",
  ".rgignore",
  ".npmrc",
  ".sous/config.yaml",
  ".sous/agents/evil.md",
  ".claude/agents/evil.md",
  ".claude/settings.json",
  ".gemini/agents/evil.md",
  ".opencode/agent/evil.md",
  ".opencode/agents/evil.md",
  "AGENTS.md",
  "opencode.json",
  ".mcp.json",
  "package.json",
];

const PROGRAMS = ["git", "rg", "sh", "bash", "npm", "npx", "node", "find", "cat"];

/** The one that we open ourselves, last of all: it shows that canaries sing, and that all are on their perch. */
const CONTROL = "control";

/** A shell waits at every pipe: a reader that opens one lets it leave a mark. */
async function hostileRepository() {
  const tree = await temporaryTree({ "state/": "", "config/": "", "programs/": "", "home/": "" });
  const root = join(tree.path, "repository");
  const pipes = [...CANARIES, CONTROL].map((name) => join(root, name));
  await Promise.all(pipes.map((pipe) => mkdir(dirname(pipe), { recursive: true })));
  await promisify(execFile)("mkfifo", pipes);
  const waiting = spawn("/bin/sh", ["-c", 'for f; do (: > "$f"; : > "$f.opened") & done; wait', "sh", ...pipes], {
    stdio: "ignore",
    detached: true,
  });
  const control = join(root, CONTROL);
  while (!existsSync(`${control}.opened`)) {
    await using _reader = await open(control, constants.O_RDONLY | constants.O_NONBLOCK);
    await setTimeout(5);
  }
  for (const name of PROGRAMS) {
    const program = join(tree.path, "programs", name);
    await writeFile(program, `#!/bin/sh\n: > '${join(tree.path, `started-${name}`)}'\n`);
    await chmod(program, 0o755);
  }
  return {
    path: tree.path,
    root,
    env: {
      PATH: join(tree.path, "programs"),
      HOME: join(tree.path, "home"),
      XDG_CONFIG_HOME: join(tree.path, "config"),
      XDG_STATE_HOME: join(tree.path, "state"),
    },
    opened: () => CANARIES.filter((name) => existsSync(join(root, `${name}.opened`))),
    started: () => PROGRAMS.filter((name) => existsSync(join(tree.path, `started-${name}`))),
    async [Symbol.asyncDispose]() {
      const ended = once(waiting, "close");
      process.kill(-(waiting.pid ?? 0), "SIGKILL");
      await ended;
      await tree[Symbol.asyncDispose]();
    },
  };
}

suite("B4.1: before trust no file of a hostile repository is opened and no program is started", () => {
  test("nothing is opened when trust and agents are looked for, from the root and from below", async () => {
    await using hostile = await hostileRepository();
    for (const cwd of [hostile.root, join(hostile.root, ".claude"), join(hostile.root, ".git/hooks")]) {
      const place = { cwd, env: hostile.env };
      const trust = await findTrust(place);
      assert.equal(trust.state, "unknown");
      assert.equal(trust.root, hostile.root);
      assert.match(trustWarning(trust) ?? "", /AGENTS\.md/);
      assert.deepEqual(await loadAgents(place, trust, undefined), { agents: [], problems: [] });
    }
    assert.deepEqual(hostile.opened(), []);
  });

  test("sous agents list opens nothing, says so in one line and continues", async () => {
    await using hostile = await hostileRepository();
    const ended = await inProcess(["agents", "list", "--json"], { cwd: hostile.root, env: hostile.env });
    assert.equal(ended.code, 0);
    assert.deepEqual(JSON.parse(ended.stdout).agents, []);
    assert.equal(ended.stderr.trim().split("\n").length, 1);
    assert.deepEqual(hostile.opened(), []);
    assert.deepEqual(hostile.started(), []);
  });

  test("sous trust itself opens no pipe and starts no program", async () => {
    await using hostile = await hostileRepository();
    const ended = await inProcess(["trust"], { cwd: hostile.root, env: hostile.env });
    assert.equal(ended.code, 7);
    assert.deepEqual(hostile.opened(), []);
    assert.deepEqual(hostile.started(), []);
    assert.equal(existsSync(join(hostile.path, "state/sous/trust.json")), false);
  });

  const isCounted = existsSync("/proc/self/io");
  test("no byte of the files is read, not even to compare them", {
    skip: !isCounted && "nobody counts here",
  }, async () => {
    const large = "---\nname: evil\n---\n".padEnd(100_000, "x");
    const files = Object.fromEntries(CANARIES.map((name) => [`repository/${name}`, large]));
    await using hostile = await temporaryTree({ ...files, "empty/": "" });
    const env = { XDG_CONFIG_HOME: join(hostile.path, "config"), XDG_STATE_HOME: join(hostile.path, "state") };
    const look = async (name: string) => {
      const place = { cwd: join(hostile.path, name), env };
      const trust = await findTrust(place);
      return { trust, loaded: await loadAgents(place, trust, undefined) };
    };
    // Once before, so that no module is loaded while bytes are counted.
    await look("empty");
    const before = bytesRead();
    const { trust, loaded } = await look("repository");
    const after = bytesRead();
    assert.equal(trust.present.length, 7);
    assert.deepEqual(loaded, { agents: [], problems: [] });
    assert.ok(after - before < 20_000, `${after - before} bytes were read`);
    readFileSync(join(hostile.path, "repository/AGENTS.md"));
    assert.ok(bytesRead() - after >= large.length, "what is read is counted");
  });
});

/** By this process, since it began. */
function bytesRead(): number {
  return Number(/^rchar: (\d+)/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
}
