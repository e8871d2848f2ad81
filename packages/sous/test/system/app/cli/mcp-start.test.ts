/** A server that takes long to start, or never does: what a person reads meanwhile, and what ends the wait. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { type AgentStage, agentStage, calls, DONE } from "../../../support/app/cli/agent-stage.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { sous } from "../../../support/app/cli/sous-process.ts";
import { isAlive, until } from "../../../support/bridges/mcp/hostile.ts";
import { serveStage, toolCall, wireClient } from "../../bridges/mcp/serve-stage.ts";

const SILENT = `require("node:fs").appendFileSync(process.argv[1], process.pid + "\\n"); setInterval(() => {}, 1000)`;

/** A configuration with one server that never answers, and writes its process into this file. */
function silentServer(file: string): string {
  const args = JSON.stringify(["-e", SILENT, file]);
  return `mcp_servers:\n  quiet: { command: ${JSON.stringify(process.execPath)}, args: ${args} }\n`;
}

function startedIn(file: string): number[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8").split("\n").filter(Boolean).map(Number);
}

type Silent = AgentStage & { script: string; pids: string };

async function silentStage(): Promise<Silent> {
  const here = await agentStage({ "config/sous/config.yaml": "", "answers.json": JSON.stringify({ sous: DONE }) });
  const pids = join(here.path, "pids");
  await writeFile(join(here.path, "config/sous/config.yaml"), silentServer(pids));
  return { ...here, script: `script/${join(here.path, "answers.json")}`, pids };
}

const WAITS = "waiting for the MCP server quiet";

/** A signal when it says what it waits for. It must end long before the 30 seconds that a start may take. */
async function interrupted(start: typeof sous | typeof inProcess, here: Silent, ...words: string[]): Promise<void> {
  const ended = await start(words, { cwd: here.root, env: here.env, signalAt: { text: WAITS, signal: "SIGINT" } });
  assert.match(ended.stderr, /[Ss]topped by SIGINT/);
  assert.deepEqual([ended.code, ended.stdout], [130, ""]);
  const [server = 0] = startedIn(here.pids).slice(-1);
  assert.ok(server > 0, "it was started");
  await until(() => !isAlive(server), "the server has ended");
  // The listener for slow starts was not called.
  assert.doesNotMatch(ended.stderr, /30 seconds/);
}

suite("a server that does not answer", { concurrency: 2 }, () => {
  test("sous run says what it waits for, and an interrupt ends the wait", async () => {
    await using here = await silentStage();
    await interrupted(sous, here, "run", "Go.", "--model", here.script);
  });

  test("sous chat says what it waits for", async () => {
    await using here = await silentStage();
    await interrupted(inProcess, here, "chat", "--model", here.script);
  });

  test("sous resume says what it waits for", async () => {
    await using here = await silentStage();
    const { result } = await here.run(
      { sous: [calls("list_files", {}), ...DONE] },
      ...["--max-turns", "1", "--deny-tools", "mcp__quiet"],
    );
    assert.equal(result.status, "incomplete");
    await interrupted(inProcess, here, "resume", result.runId);
  });

  test("sous mcp check says what it waits for, a quiet run does not", async () => {
    await using here = await silentStage();
    const config = silentServer(here.pids).replace(" }\n", ", start_timeout: 4s }\n");
    await writeFile(join(here.path, "config/sous/config.yaml"), config);
    const checked = await here.command("mcp", "check", "quiet");
    assert.deepEqual([checked.code, checked.stderr.split("\n")[0]], [1, WAITS]);
    const ended = await here.command("run", "Go.", "--model", here.script, "--quiet");
    assert.deepEqual([ended.code, ended.stdout], [0, "Done.\n"]);
    assert.doesNotMatch(ended.stderr, /waiting/);
  });

  test("a cancelled call of sous mcp serve ends the servers that it was starting", async () => {
    await using stage = await serveStage({ sous: DONE });
    const pids = join(stage.path, "pids");
    await writeFile(join(stage.path, "config/sous/config.yaml"), silentServer(pids));
    await using server = wireClient(stage);
    await server.initialize();
    await server.send(toolCall(1, "sous", "Go"), toolCall(2, "sous", "Go"));
    await until(() => startedIn(pids).length === 2, "both are started");
    for (const requestId of [1, 2]) await server.send({ method: "notifications/cancelled", params: { requestId } });
    await until(() => !startedIn(pids).some(isAlive), "the servers have ended");
    assert.equal(server.process.exitCode, null);
  });
});
