/** The claims of SECURITY.md about a folder that is not trusted: its settings and notes are not used, its other files can be read. */

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { runProcess, scriptFolder } from "../../support/app/cli/run-process.ts";
import { startAimock, usage } from "../../support/runtime/model/aimock.ts";

test("B4: in a folder that is not trusted notes and settings have no effect, and a tool reads its files", async () => {
  await using place = await scriptFolder({});
  const project = join(place.path, "project");
  await mkdir(join(project, ".sous"), { recursive: true });
  await writeFile(join(project, ".sous/config.yaml"), "agent: { max_turns: 1 }\n");
  await writeFile(join(project, "AGENTS.md"), "NOTES OF THE PROJECT\n");
  await writeFile(join(project, "data.txt"), "DATA OF THE PROJECT\n");
  await using server = await startAimock([
    {
      match: { hasToolResult: false },
      response: { toolCalls: [{ name: "read_file", arguments: '{"path":"data.txt"}' }], usage: usage(900, 30) },
    },
    { match: { hasToolResult: true }, response: { content: "Read.", usage: usage(900, 30) } },
  ]);
  const { code, stdout, stderr } = await runProcess({
    cwd: project,
    parameters: ["run", "What is in data.txt?", "--model", "openai-chat/gpt-5.5", "--ephemeral", "--quiet"],
    env: { ...server.environment, HOME: place.path },
  });
  const sent = JSON.stringify(server.requests().map(({ body }) => body));
  assert.deepEqual(
    { code, stdout, notes: sent.includes("NOTES OF THE PROJECT"), data: sent.includes("DATA OF THE PROJECT") },
    { code: 0, stdout: "Read.\n", notes: false, data: true },
    stderr,
  );
});
