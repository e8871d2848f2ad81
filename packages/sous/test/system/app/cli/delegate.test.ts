/** Delegation to an external agent on the command line: the tool, agent files, rules, and what is loaded for it. */

import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { chmod, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { agentFile, agentStage, calls, DONE } from "../../../support/app/cli/agent-stage.ts";

const TOY = join(import.meta.dirname, "toy-agent.mjs");
const CONFIG = `agent_servers:
  Toy Agent:
    command: ${JSON.stringify(process.execPath)}
    args: [${JSON.stringify(TOY)}]
  other:
    command: no-such-agent-here
`;
const FILES = { "config/sous/config.yaml": CONFIG };
const TASK = { task: "Look at it.", description: "look" };
const ON_TOY = "config/sous/agents/toy.md";

suite("B4: the program of an agent server of the user", () => {
  const script = { sous: [calls("subagent_delegate", TASK), ...DONE] };

  test("an agent server starts at home, so that npx takes no program of the repository, and works in the repository", async () => {
    await using here = await agentStage(FILES);
    const { results } = await here.run(script, "--yes");
    const [home, work] = [realpathSync(here.path), realpathSync(here.root)];
    assert.ok(results[0]?.output.includes(`started in ${home} for ${work}`), results[0]?.output);
  });

  test("an agent server starts in the folder that its user names; `.` is the working folder", async () => {
    const config = CONFIG.replace("    args:", "    cwd: .\n    args:");
    await using here = await agentStage({ "config/sous/config.yaml": config });
    const { results } = await here.run(script, "--yes");
    assert.ok(results[0]?.output.includes(`started in ${realpathSync(here.root)} for`), results[0]?.output);
  });

  test("an agent server whose folder is not there is said not to start, with the folder", async () => {
    const config = CONFIG.replace("    args:", "    cwd: /no/such/folder\n    args:");
    await using here = await agentStage({ "config/sous/config.yaml": config });
    const { code, stderr } = await here.command("acp", "check", "Toy Agent");
    assert.equal(code, 1);
    assert.match(stderr, /cannot be started: .*the folder \/no\/such\/folder .* gone\. Check agent_servers/);
  });
});

suite("subagent_delegate of the root", () => {
  test("a rule allows subagent_delegate, by the name or the short name of the server, and for the default server", async () => {
    await using here = await agentStage(FILES);
    for (const [rule, input] of [
      ["subagent_delegate(toy-agent)", { ...TASK, serverName: "Toy Agent" }],
      ["subagent_delegate(Toy Agent)", { ...TASK, serverName: "toy-agent" }],
      ["subagent_delegate(external/toy-agent)", TASK],
    ] as const) {
      const { result, starts, results } = await here.run(
        { sous: [calls("subagent_delegate", input), ...DONE] },
        "--allow",
        rule,
      );
      assert.deepEqual([result.status, result.text], ["completed", "Done."], results[0]?.output);
      assert.deepEqual(
        starts.map(({ model, depth }) => [model.startsWith("script/") ? "script" : model, depth]),
        [
          ["script", 0],
          ["external/toy-agent", 1],
        ],
      );
      assert.match(results[0]?.output ?? "", /Toy read .*Look at it\./);
    }
  });

  test("subagent_delegate is refused without a rule and a person, and a rule for another server changes nothing", async () => {
    await using here = await agentStage(FILES);
    const script = { sous: [calls("subagent_delegate", TASK), ...DONE] };
    for (const options of [[], ["--allow", "subagent_delegate(other)"]]) {
      const { result, starts } = await here.run(script, ...options);
      assert.deepEqual([result.stopReason, starts.length], ["consent", 1]);
      assert.deepEqual(result.denied[0]?.toolName, "subagent_delegate");
    }
  });

  test("--tools and --deny-tools know subagent_delegate, and without servers there is none", async () => {
    const script = { sous: [calls("subagent_delegate", TASK), ...DONE] };
    await using here = await agentStage(FILES);
    const denied = await here.run(script, "--deny-tools", "subagent_delegate", "--yes");
    assert.match(denied.results[0]?.output ?? "", /^Unknown tool: subagent_delegate/);
    const only = await here.run(script, "--tools", "subagent_delegate", "--yes");
    assert.equal(only.starts.length, 2);
    await using without = await agentStage();
    await assert.rejects(without.run(script, "--tools", "subagent_delegate"), /Unknown tool subagent_delegate/);
  });
});

suite("an agent file whose model is an external agent", () => {
  const named = { ...FILES, [ON_TOY]: agentFile("toy", "model: external/Toy Agent") };
  test("a rule for subagent_delegate(NAME) allows the agent whose file has model: external/NAME", async () => {
    await using here = await agentStage(named);
    const script = { sous: [calls("subagent_toy", { task: "Look at it." }), ...DONE] };
    const { starts, results } = await here.run(script, "--allow", "subagent_delegate(toy-agent)");
    assert.deepEqual([starts[1]?.agent, starts[1]?.model], ["toy", "external/toy-agent"], results[0]?.output);
  });

  test("a server that is not configured is told with its line and the known names, and the agent is not there", async () => {
    await using here = await agentStage({ ...FILES, [ON_TOY]: agentFile("toy", "model: external/codex") });
    const { warnings } = await here.run({ sous: DONE });
    assert.match(
      warnings.join("\n"),
      /toy\.md:4: SOUS-A003: there is no agent server "external\/codex"; known are external\/toy-agent, external\/other/,
    );
    const check = await here.command("agents", "check");
    assert.equal(check.code, 3);
    assert.match(check.stdout, /toy\.md:4:8: error SOUS-A003: there is no agent server/);
  });

  test("sous agents list and show name the server of an external agent", async () => {
    await using here = await agentStage(named);
    assert.match((await here.command("agents", "list")).stdout, /external\/toy-agent/);
    assert.match((await here.command("agents", "show", "toy")).stdout, /model +external\/toy-agent/);
  });
});

test("G5: sous resume continues a run that had such a child, also when the server is gone", async () => {
  await using here = await agentStage(FILES);
  const script = { sous: [calls("subagent_delegate", TASK), ...DONE] };
  const { result, starts } = await here.run(script, "--yes", "--max-turns", "1");
  assert.deepEqual([result.stopReason, starts.length], ["turns", 2]);
  await writeFile(join(here.path, "config/sous/config.yaml"), "");
  await writeFile(join(here.path, "answers.json"), JSON.stringify({ sous: DONE }));
  const resumed = await here.command("resume", result.runId, "--max-turns", "3", "--json");
  assert.equal(JSON.parse(resumed.stdout).status, "completed", resumed.stderr);
  assert.equal(JSON.parse(resumed.stdout).agents.length, 2);
});

test("B4.4: a server of a project counts only once the project is trusted, and its program is not one of the project", async () => {
  await using here = await agentStage({
    "project/.sous/config.yaml": "agent_servers: { theirs: { command: ./agent.sh } }\n",
    "project/agent.sh": "#!/bin/sh\ntouch started\n",
  });
  await chmod(join(here.root, "agent.sh"), 0o755);
  assert.match((await here.command("acp", "list")).stdout, /^No agent server is configured/);
  await here.trust();
  assert.match((await here.command("acp", "list")).stdout, /^theirs {2}external\/theirs {2}not found\n/);
  const checked = await here.command("acp", "check", "theirs");
  assert.deepEqual([checked.code, await readdir(here.root)], [1, [".git", ".sous", "a.txt", "agent.sh"]]);
  const script = { sous: [calls("subagent_delegate", TASK), ...DONE] };
  const { results } = await here.run(script, "--yes");
  assert.match(results[0]?.output ?? "", /theirs/);
  assert.deepEqual(await readdir(here.root), [".git", ".sous", "a.txt", "agent.sh"]);
});

test("sous trust shows what a project's agents work as, and the commands of its servers", async () => {
  await using here = await agentStage({
    "project/.sous/config.yaml": 'agent_servers: { "Their Agent": { command: their-acp, args: [--fast] } }\n',
    "project/.sous/agents/coder.md": agentFile("coder", "model: external/Their Agent"),
  });
  const { stdout } = await here.command("trust", "--yes");
  assert.match(stdout, /coder: the tools of its caller, works as external\/their-agent, with tools of its own\n/);
  assert.match(stdout, /their-acp --fast {2}\('Their Agent' in \.sous\/config\.yaml\)\n/);
});

test("a key among the variables of a server is in nothing that is stored", async () => {
  const key = "toy-key-0123456789abcdef";
  const config = `${CONFIG.split("  other:")[0]}    env: { TOY_API_KEY: ${key} }\n`;
  await using here = await agentStage({ "config/sous/config.yaml": config });
  const input = { ...TASK, task: `Use ${key}.` };
  const { results, starts } = await here.run({ sous: [calls("subagent_delegate", input), ...DONE] }, "--yes");
  assert.equal(starts.length, 2);
  assert.ok(!JSON.stringify([results, starts]).includes(key));
});

suite("sous permissions test and delegations", () => {
  test("sous permissions test decides about a delegation by the name of the server", async () => {
    await using here = await agentStage(FILES);
    const asked = await here.command("permissions", "test", "subagent_delegate(Toy Agent)");
    assert.match(asked.stdout, /^no rule decides: a person is asked/);
    const allowed = await here.command(
      "permissions",
      "test",
      "subagent_delegate(toy-agent)",
      "--allow",
      "subagent_delegate(toy*)",
    );
    assert.match(allowed.stdout, /^runs without a question\ndecided by: allow subagent_delegate\(toy\*\) \(--allow\)/);
    const unknown = await here.command("permissions", "test", "subagent_delegate(codex)");
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /Unknown agent server "codex"; agent_servers has: Toy Agent, other/);
  });
});
