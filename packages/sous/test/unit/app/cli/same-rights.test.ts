/** However an agent of a file is called, and as the root, it has the rights of its file, and so has what it calls. */

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { agentFile, agentStage, calls, DONE } from "../../../support/app/cli/agent-stage.ts";

const CALLS = [
  calls("read_file", { path: "secret.txt" }),
  calls("write_file", { path: "new.txt", content: "x" }),
  calls("terminal", { command: "touch made.txt" }),
  calls("fetch", { url: "http://127.0.0.1:9/" }),
];
const KEYS = [
  "tools: [read_file, list_files, terminal, subagent, write_file]",
  "deny: [write_file]",
  "permissions:",
  '  - deny: "read_file(secret*)"',
  '  - deny: "terminal(touch*)"',
].join("\n");

function files(count: number): Record<string, string> {
  const all: Record<string, string> = {
    "project/secret.txt": "hidden words\n",
    "config/sous/agents/held.md": agentFile("held", KEYS),
    "project/.claude/agents/git.md": agentFile(
      "git",
      "tools: Read, Bash(git status:*)\ndisallowedTools: Read(secret*)",
    ),
  };
  for (let index = 0; index < count; index++) all[`config/sous/agents/other${index}.md`] = agentFile(`other${index}`);
  return all;
}

const WAYS: Record<string, (agent: string) => object[]> = {
  subagent: (agent) => [calls("subagent", { label: "c", task: "Work.", agent })],
  "its own tool": (agent) => [calls(`subagent_${agent}`, { task: "Work." })],
  parallel: (agent) => [calls("parallel_subagent", { tasks: [{ label: "c", task: "Work.", agent }] })],
  background: (agent) => [
    calls("subagent", { label: "c", task: "Work.", agent, background: true }),
    calls("subagent_wait", {}),
  ],
  "a list of tools": (agent) => [
    calls("subagent", {
      label: "c",
      task: "Work.",
      agent,
      allowed_tools: ["read_file", "terminal", "write_file", "fetch"],
    }),
  ],
};

suite("C1: the rights of a file hold on every way", () => {
  for (const count of [1, 20])
    for (const agent of count === 1 ? ["held", "git"] : ["held"])
      for (const [way, begin] of Object.entries(WAYS))
        test(`C1: ${agent} has the rights of its file when called by ${way}, beside ${count} others`, async () => {
          await using here = await agentStage(files(count));
          await here.trust();
          const { results } = await here.run({ sous: [...begin(agent), ...DONE], "**": [...CALLS, ...DONE] }, "--yes");
          const own = results.filter(({ path }) => path !== "sous");
          assert.equal(own.length, way === "a list of tools" ? 0 : CALLS.length);
          assert.doesNotMatch(JSON.stringify(own), /hidden words|Wrote|Created|exit code 0/i);
        });

  for (const agent of ["held", "git"])
    test(`C1: ${agent} has the rights of its file as the root, and so have its children`, async () => {
      await using here = await agentStage(files(20));
      await here.trust();
      const { results } = await here.run(
        {
          [agent]: [...CALLS, calls("subagent", { label: "c", task: "Work." }), ...DONE],
          "**": [...CALLS, ...DONE],
        },
        "--agent",
        agent,
        "--yes",
      );
      assert.doesNotMatch(JSON.stringify(results), /hidden words|Wrote|Created|exit code 0/i);
    });
});

test("G5: a run whose agent file is gone is not continued without the rules of the file", async () => {
  await using here = await agentStage(files(0));
  await here.run({ held: [...CALLS, ...DONE] }, "--agent", "held", "--yes");
  await rm(join(here.path, "config/sous/agents/held.md"));
  const { code, stderr } = await here.command("resume", "last", "--fork", "--at", "1", "--json", "--yes");
  assert.notEqual(code, 0);
  assert.match(stderr, /This run had agents that are not here now: held\. Put back the file/);
});
