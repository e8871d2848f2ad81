/** Files and terminals of a run in the hands of an agent: what comes back is what the protocol promises. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { openPrograms } from "../../../../src/app/process/programs.ts";
import { readFileTool } from "../../../../src/app/tools/read-only.ts";
import { terminalTool } from "../../../../src/app/tools/terminal.ts";
import { type CallTool, LentTools, readLentFile } from "../../../../src/bridges/acp/lent-tools.ts";
import type { ToolResult } from "../../../../src/core/tool.ts";
import { systemClock } from "../../../../src/machine/host.ts";
import { contextIn } from "../../../support/app/tools/temporary-tree.ts";
import { temporaryFolder } from "./agents.ts";

const folder = temporaryFolder("acp-lent");
const programs = openPrograms({ environment: process.env });
after(() => programs[Symbol.asyncDispose]());

const tools = { read_file: readFileTool(), terminal: terminalTool({ programs, timeoutMs: 10_000 }) };
const callTool: CallTool = async ({ toolName, input }) => {
  const found = tools[toolName as keyof typeof tools];
  return (await found.execute(input, contextIn(folder))) as ToolResult;
};

suite("D5: files that are lent", () => {
  test("D5: a long file comes whole, in several calls, and a part as it is asked for", async () => {
    const lines = Array.from({ length: 5000 }, (_, index) => `line ${index + 1}`);
    writeFileSync(join(folder, "long.txt"), `${lines.join("\n")}\n`);
    assert.deepEqual(await readLentFile({ path: "long.txt" }, callTool), { content: `${lines.join("\n")}\n` });
    const part = await readLentFile({ path: "long.txt", line: 2999, limit: 2100 }, callTool);
    assert.equal(part.content, `${lines.slice(2998).join("\n")}\n`);
    assert.equal((await readLentFile({ path: "long.txt", line: 3, limit: 2 }, callTool)).content, "line 3\nline 4");
    writeFileSync(join(folder, "empty.txt"), "");
    assert.equal((await readLentFile({ path: "empty.txt" }, callTool)).content, "");
  });

  test("D5: a file that could only be given in part is refused, so that no part is written back as the whole", async () => {
    writeFileSync(join(folder, "wide.txt"), `short\n${"x".repeat(5000)}\n`);
    await assert.rejects(readLentFile({ path: "wide.txt" }, callTool), /a line that is too long/);
  });

  test("D5: a file that is not there is refused, and is empty for gemini-cli, which could not create it otherwise", async () => {
    const ask = { sessionId: "s", path: "not-there.txt" };
    // A run tells a failure of its tool as a result.
    const inRun: CallTool = (action) =>
      callTool(action).catch((error: Error) => ({ success: false, output: "", error: error.message }));
    const read = (agentName: string, params: object) =>
      new LentTools(inRun, systemClock, agentName).request("fs/read_text_file", params);
    await assert.rejects(read("another", ask), /No file at not-there\.txt/);
    assert.deepEqual(await read("gemini-cli", ask), { content: "" });
    await assert.rejects(read("gemini-cli", { ...ask, path: "../outside.txt" }), /outside/);
  });
});

suite("D5: terminals that are lent", () => {
  test("D5: output is there while a command runs, a kill ends it and keeps its output, a release forgets it", async () => {
    const lent = new LentTools(callTool, systemClock);
    const ask = (method: string, fields: object) => lent.request(method, { sessionId: "s", ...fields });
    const { terminalId } = (await ask("terminal/create", { command: "echo ready; sleep 100" })) as {
      terminalId: string;
    };
    const exit = ask("terminal/wait_for_exit", { terminalId });
    const look = async () => (await ask("terminal/output", { terminalId })) as { output: string; exitStatus: unknown };
    while ((await look()).output === "") await new Promise(setImmediate);
    assert.deepEqual(await look(), { output: "ready", truncated: false, exitStatus: null });
    await ask("terminal/kill", { terminalId });
    const ended = { exitCode: null, signal: "SIGTERM" };
    assert.deepEqual(await exit, ended);
    assert.deepEqual(await look(), { output: "ready", truncated: false, exitStatus: ended });
    await ask("terminal/release", { terminalId });
    await assert.rejects(look(), /no terminal with this id/);
  });

  test("D5: a session that is closed stops its commands, and long output keeps its end", async () => {
    const stopped: unknown[] = [];
    const lent = new LentTools((action) => {
      if ("stop" in (action.input as object)) stopped.push(action.input);
      return callTool(action);
    }, systemClock);
    const start = { sessionId: "s", command: "echo 123456789", outputByteLimit: 4 };
    const { terminalId } = (await lent.request("terminal/create", start)) as { terminalId: string };
    assert.deepEqual(await lent.request("terminal/wait_for_exit", { sessionId: "s", terminalId }), {
      exitCode: 0,
      signal: null,
    });
    const output = { output: "6789", truncated: true, exitStatus: { exitCode: 0, signal: null } };
    assert.deepEqual(await lent.request("terminal/output", { sessionId: "s", terminalId }), output);
    await lent.request("terminal/create", { sessionId: "s", command: "sleep 100" });
    await lent.close();
    assert.equal(stopped.length, 1);
  });
});
