/** `--agent NAME`: an agent of a file is the root, with what its file gives it and no more. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { messageOf } from "../../../../src/core/errors.ts";
import { agentFile, agentStage, calls, DONE } from "../../../support/app/cli/agent-stage.ts";

const FILES = {
  "config/sous/agents/reviewer.md": agentFile("reviewer", "tools: [read_file, grep]\nmax_turns: 7"),
  "config/sous/agents/lead.md": agentFile("lead", "delegate: true\ndeny: [terminal]"),
  "config/sous/agents/strict.md": agentFile("strict", 'permissions:\n  - deny: "read_file(secret*)"'),
};
const PRIMARY = "---\ndescription: Builds.\nmode: primary\npermission:\n  bash: deny\n---\nYou build.\n";

suite("C1: the root is the agent that was chosen", () => {
  test("C1: the chosen root has the instructions, tools and turns of its file, and its name is in the paths", async () => {
    await using here = await agentStage(FILES);
    const { starts } = await here.run({ reviewer: DONE }, "--agent", "reviewer");
    const [start] = starts;
    assert.deepEqual([start?.agent, start?.path, start?.maxTurns], ["reviewer", "reviewer", 7]);
    assert.deepEqual(
      start?.tools.shown?.map(({ name }) => name),
      ["read_file", "grep"],
    );
    assert.doesNotMatch(start?.instructions ?? "", /You are sous/);
    assert.match(start?.notes ?? "", /^You work in /);
  });

  test("C1: a tool that its file forces and an option takes away is not forced", async () => {
    await using here = await agentStage({
      "config/sous/agents/forced.md": agentFile(
        "forced",
        "tools: [grep, read_file]\ntool_choice: grep\ntemperature: 0",
      ),
    });
    for (const options of [["--tools", "read_file"], ["--deny-tools", "grep"], ["--tools", ""], []]) {
      const { result } = await here.run({ forced: DONE }, "--agent", "forced", ...options);
      assert.equal(result.status, "completed", options.join(" "));
    }
  });

  test("C1: options take away and give nothing", async () => {
    await using here = await agentStage(FILES);
    const shown = async (...options: string[]) => {
      const { starts } = await here.run({ "**": DONE }, "--agent", ...options);
      return [starts[0]?.rights.use, starts[0]?.rights.spawn, starts[0]?.maxTurns];
    };
    assert.deepEqual(await shown("reviewer", "--tools", "read_file,terminal,subagent", "--max-turns", "90"), [
      ["read_file"],
      false,
      7,
    ]);
    assert.deepEqual(await shown("reviewer", "--deny-tools", "grep", "--max-turns", "3"), [["read_file"], false, 3]);
  });

  test("C1: a tool that the file of the root denies is denied to its children, and the root calls other agents", async () => {
    await using here = await agentStage(FILES);
    const { starts, results } = await here.run(
      {
        lead: [calls("subagent_reviewer", { task: "Look." }), calls("terminal", { command: "ls" }), ...DONE],
        "**": [calls("terminal", { command: "ls" }), ...DONE],
      },
      "--agent",
      "lead",
      "--yes",
    );
    assert.deepEqual(
      starts.map(({ path }) => path),
      ["lead", "lead/reviewer"],
    );
    const refused = results.filter(({ output }) =>
      /^(?:Unknown tool|You may not use the tool): terminal\./.test(output),
    );
    assert.equal(refused.length, 2);
  });

  test("C1: the rules of the file of the root hold for it, also with --yes", async () => {
    await using here = await agentStage({ ...FILES, "project/secret.txt": "s" });
    const { results } = await here.run(
      { strict: [calls("read_file", { path: "secret.txt" }), ...DONE] },
      "--agent",
      "strict",
      "--yes",
    );
    assert.match(results[0]?.output ?? "", /^A rule of the user does not allow this call of read_file: deny read_file/);
  });

  test("C1: a primary agent of opencode is run so, and no one calls it", async () => {
    await using here = await agentStage({ ...FILES, "project/.opencode/agent/build.md": PRIMARY });
    await here.trust();
    const asked = await here.run({
      sous: [calls("subagent", { label: "x", task: "Build.", agent: "build" }), ...DONE],
    });
    assert.match(asked.refused[0]?.message ?? "", /^Unknown agent: build\. /);
    const { starts } = await here.run({ build: DONE }, "--agent", "build");
    assert.deepEqual([starts[0]?.agent, starts[0]?.instructions], ["build", "You build."]);
    assert.equal(starts[0]?.rights.use.includes("terminal"), false);
  });

  test("C1: an unknown name is a usage error with the nearest", async () => {
    await using here = await agentStage(FILES);
    await assert.rejects(here.run({ sous: DONE }, "--agent", "reviwer"), (error) => {
      assert.match(messageOf(error), /^Unknown agent reviwer; did you mean reviewer\? sous agents list shows /);
      return true;
    });
    const { code } = await here.command("run", "Go.", "--agent", "nobody", "--model", "script/x.json");
    assert.equal(code, 2);
  });

  test("G5: a run is continued with the agent it began with, within the rights it had", async () => {
    await using here = await agentStage(FILES);
    await here.run({ reviewer: [calls("grep", { pattern: "a" }), ...DONE] }, "--agent", "reviewer");
    const { code, stdout, stderr } = await here.command("resume", "last", "--fork", "--at", "1", "--json");
    assert.equal(code, 0, stderr);
    const { run_id } = JSON.parse(stdout);
    const shown = JSON.parse((await here.command("replay", "--id", run_id, "--request", "1", "--json")).stdout);
    assert.deepEqual([shown.allowed_tools, shown.may_delegate], [["read_file", "grep"], false]);
  });

  test("G5: a file that has been widened meanwhile gives a run that continues nothing more", async () => {
    await using here = await agentStage(FILES);
    await here.run({ reviewer: [calls("grep", { pattern: "a" }), ...DONE] }, "--agent", "reviewer");
    const wide = agentFile("reviewer", "tools: [read_file, grep, terminal]\ndelegate: true");
    await writeFile(join(here.path, "config/sous/agents/reviewer.md"), wide);
    const { code, stdout, stderr } = await here.command("resume", "last", "--fork", "--at", "1", "--json");
    assert.equal(code, 0, stderr);
    const { run_id } = JSON.parse(stdout);
    const shown = JSON.parse((await here.command("replay", "--id", run_id, "--request", "1", "--json")).stdout);
    assert.deepEqual([shown.allowed_tools, shown.may_delegate], [["read_file", "grep"], false]);
  });
});
