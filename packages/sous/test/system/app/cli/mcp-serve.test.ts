/** Tests the ends of `sous mcp serve`, what it leaves behind, and which trace its runs belong to. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";
import { inProcess } from "../../../support/app/cli/in-process.ts";
import { type ServeStage, serveCommand, serveStage, toolCall, wireClient } from "../../bridges/mcp/serve-stage.ts";

/** A command that cannot be mistaken for one of another test, and that ignores a polite end. */
function stubborn(mark: string): string {
  return `trap '' TERM; : ${mark}; sleep 60; sleep 60`;
}

/** The processes whose command line has this mark. */
function withMark(mark: string): string[] {
  return readdirSync("/proc").filter((id) => {
    if (!/^\d+$/.test(id)) return false;
    try {
      return readFileSync(`/proc/${id}/cmdline`, "utf8").includes(mark);
    } catch {
      return false;
    }
  });
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, `waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

function working(mark: string): object {
  const shell = { calls: [{ tool: "terminal", input: { command: stubborn(mark) } }] };
  const both = [1, 2].map((n) => ({ label: `child${n}`, task_prompt: "Work." }));
  return { sous: [{ calls: [{ tool: "parallel_subagent", input: { tasks: both } }] }], "sous/*": [shell] };
}

async function statuses(stage: ServeStage): Promise<string[]> {
  return (await stage.runs()).map(({ status }) => status);
}

const onLinux = { skip: process.platform === "linux" ? false : "it reads /proc" };

suite("the life of sous mcp serve", () => {
  for (const [what, end, code] of [
    ["the end of its input", (server) => server.process.stdin?.end(), 0],
    ["SIGTERM", (server) => server.process.kill("SIGTERM"), 143],
    ["an interrupt", (server) => server.process.kill("SIGINT"), 130],
  ] as readonly [string, (server: ReturnType<typeof wireClient>) => void, number][])
    test(`${what} cancels every tree and leaves no process`, onLinux, async () => {
      const mark = `sous-mcp-${process.pid}-${code}`;
      await using stage = await serveStage(working(mark));
      const server = wireClient(stage, ["--yes"]);
      await server.initialize();
      await server.send(toolCall(1, "sous", "One"), toolCall(2, "sous", "Two"));
      await until("four shells", () => withMark(mark).length >= 4);
      end(server);
      assert.equal(await server.ended, code);
      await until("no shell is left", () => withMark(mark).length === 0);
      assert.deepEqual([...new Set(await statuses(stage))], ["cancelled"]);
    });

  test("a client that is killed takes everything with it", onLinux, async () => {
    const mark = `sous-mcp-${process.pid}-killed`;
    await using stage = await serveStage(working(mark));
    const request = [
      {
        id: 0,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } },
      },
      toolCall(1, "sous", "Work"),
    ].map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const program = `
      const { spawn } = require("node:child_process");
      const server = spawn(process.execPath, ${JSON.stringify(serveCommand("--yes"))}, { stdio: ["pipe", "pipe", "ignore"] });
      server.stdin.write(${JSON.stringify(request.join(""))});
      process.stdout.write(server.pid + "\\n");
      setInterval(() => {}, 1000);`;
    const client = spawn(process.execPath, ["-e", program], {
      cwd: stage.project,
      env: stage.env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const server = await new Promise<string>((resolve) =>
      client.stdout.once("data", (text) => resolve(`${text}`.trim())),
    );
    await until("two shells", () => withMark(mark).length >= 2);
    client.kill("SIGKILL");
    await until("the server has ended", () => !readdirSync("/proc").includes(server));
    await until("no shell is left", () => withMark(mark).length === 0);
    assert.deepEqual([...new Set(await statuses(stage))], ["cancelled"]);
  });

  test(
    "the servers of tools that a call has started are gone after its answer, while the service stays",
    onLinux,
    async () => {
      await using stage = await serveStage({ sous: [{ text: "Done." }] });
      const starts = join(stage.path, "starts");
      const args = [join(import.meta.dirname, "toy-mcp-server.mjs")];
      const toy = { command: process.execPath, args, env: { STARTS: starts } };
      await writeFile(join(stage.path, "config/sous/config.yaml"), JSON.stringify({ mcp_servers: { toy } }));
      const server = wireClient(stage);
      await server.initialize();
      await server.send(toolCall(1, "sous", "Look"));
      await server.answerTo(1);
      const [pid = ""] = readFileSync(starts, "utf8").split("\n");
      await until("the server of tools has ended", () => !readdirSync("/proc").includes(pid));
      assert.equal(server.process.exitCode, null);
      server.process.stdin?.end();
      assert.equal(await server.ended, 0);
    },
  );

  test("F2: a call belongs to the trace that its client names, else to that of the process, works in --cwd, and reads the files again: an agent that is gone is an error", async () => {
    await using stage = await serveStage({
      scout: [{ calls: [{ tool: "read_file", input: { path: "pay.ts" } }] }, { text: "Read." }],
    });
    const [ofProcess, ofCall] = ["1", "2"].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`);
    const elsewhere = { ...stage, project: stage.path };
    const server = wireClient(elsewhere, ["--cwd", "project"], { TRACEPARENT: ofProcess ?? "" });
    await server.initialize();
    const given = [{ traceparent: ofCall }, {}, { traceparent: "nonsense", tracestate: 7 }];
    const traces: unknown[] = [];
    for (const [id, meta] of given.entries()) {
      await server.send(toolCall(id, "scout", "Look", meta));
      const { result } = await server.answerTo(id);
      assert.equal(result?.structuredContent.status, "completed");
      await using store = await openSqliteStore(join(stage.path, "data/sous/sous.db"), { readOnly: true });
      assert.equal((await store.list())[0]?.cwd, stage.project);
      const events = await store.read(String(result?.structuredContent.run_id));
      traces.push(...events.flatMap((event) => (event.type === "run-start" ? [event.traceparent] : [])));
    }
    assert.deepEqual(traces, [ofCall, ofProcess, ofProcess]);
    await writeFile(
      join(stage.path, "config/sous/agents/scout.md"),
      "---\nname: other\ndescription: Other.\n---\nWork.\n",
    );
    await server.send(toolCall(9, "scout", "Look"));
    const { result } = await server.answerTo(9);
    assert.equal(result?.isError, true, "a call reads the files again, and this agent is gone");
    assert.match(result?.content[0]?.text ?? "", /^error: Unknown agent scout/);
    server.process.stdin?.end();
    assert.equal(await server.ended, 0);
  });

  test("a folder to work in that does not exist is a mistake of usage", async () => {
    await using stage = await serveStage({});
    const words = ["mcp", "serve", "--model", "script/script.json", "--cwd", "nowhere"];
    const nowhere = await inProcess(words, { cwd: stage.project, env: stage.env });
    assert.deepEqual([nowhere.code, nowhere.stdout], [2, ""]);
    assert.match(nowhere.stderr, /^error: --cwd: the folder nowhere cannot be used: /);
  });

  test("limits of an outer run that cannot be read end the command, with nothing on stdout", async () => {
    await using stage = await serveStage({});
    const env = { ...stage.env, SOUS_WITHIN: "nonsense" };
    const words = ["mcp", "serve", "--model", "script/script.json"];
    const ended = await inProcess(words, { cwd: stage.project, env });
    assert.deepEqual([ended.code, ended.stdout], [3, ""]);
    assert.match(ended.stderr, /SOUS_WITHIN/);
  });
});
