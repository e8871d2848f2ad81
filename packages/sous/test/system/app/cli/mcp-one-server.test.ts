/** An MCP server is one process for a whole tree, counted in the table of processes while two children call it. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { type AgentStage, agentFile, agentStage, calls, DONE } from "../../../support/app/cli/agent-stage.ts";

const SERVER = join(import.meta.dirname, "meeting-mcp-server.mjs");
const PATIENCE_MS = 20_000;

const tasks = ["one", "two"].map((agent) => ({ agent, label: agent, task_prompt: "Meet the other." }));
const MEETING = {
  sous: [calls("parallel_subagent", { tasks }), ...DONE],
  "sous/*": [calls("mcp__toy__meet", {}), { text: "Met." }],
};

/** A user with the server, and two agents that may call its tool. */
async function toyStage(): Promise<AgentStage> {
  const stage = await agentStage({
    "config/sous/agents/one.md": agentFile("one", "tools: [mcp__toy__meet]"),
    "config/sous/agents/two.md": agentFile("two", "tools: [mcp__toy__meet]"),
  });
  const toy = { command: process.execPath, args: [SERVER, stage.path], agents: ["one", "two"] };
  writeFileSync(join(stage.path, "config/sous/config.yaml"), JSON.stringify({ mcp_servers: { toy } }));
  return stage;
}

test("two children that call a server at the same time have one process, and it ends with the command", {
  skip: process.platform !== "linux",
}, async () => {
  await using stage = await toyStage();
  const running = stage.run(MEETING, "--allow", "mcp__toy__meet");
  await until(() => existsSync(join(stage.path, "met")));
  const whileBoth = processesOf(stage);
  writeFileSync(join(stage.path, "go"), "");
  const { results, warnings } = await running;
  const met = results.filter(({ path }) => path !== "sous").map(({ output }) => output.split("\n")[0]);
  assert.deepEqual(met, [`met at ${whileBoth[0]}`, `met at ${whileBoth[0]}`], warnings.join("\n"));
  assert.equal(whileBoth.length, 1);
  assert.deepEqual(startsOf(stage), whileBoth);
  assert.deepEqual(processesOf(stage), []);
});

/** The process ids with which the server has started, by its own word. */
function startsOf({ path }: AgentStage): string[] {
  const file = join(path, "started");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

/** The processes of the server, by the table of processes. */
function processesOf({ path }: AgentStage): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => argumentsOf(pid).includes(SERVER) && argumentsOf(pid).includes(path));
}

function argumentsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    // It has ended in this moment.
    return [];
  }
}

async function until(isSo: () => boolean): Promise<void> {
  for (const startedAt = performance.now(); !isSo(); await wait(10)) {
    if (performance.now() - startedAt > PATIENCE_MS) throw new Error("It did not happen");
  }
}
