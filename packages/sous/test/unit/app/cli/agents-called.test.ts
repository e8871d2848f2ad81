/** Agents of files on the command line: how they are called, and what every agent of a tree is told. */

import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { toolLines } from "../../../../src/app/cli/chat/facts.ts";
import { chooseStyle } from "../../../../src/app/cli/terminal/style.ts";
import { agent } from "../../../../src/core/agent.ts";
import type { RuleAnswer } from "../../../../src/core/approval.ts";
import { tool } from "../../../../src/core/tool.ts";
import { namedAgentTool } from "../../../../src/runtime/subagents/named-agent.ts";
import { agentFile, agentStage, calls, DONE } from "../../../support/app/cli/agent-stage.ts";
import { killRunsAt } from "../../../support/app/cli/killed-runs.ts";
import { DEFAULT_CONFIGURATION } from "../../../support/app/config/default-configuration.ts";

const LOOK = { agent: "scout", label: "look", task_prompt: "Look." };
const WAYS: readonly [tool: string, input: object][] = [
  ["subagent_scout", { task: "Look." }],
  ["subagent", LOOK],
  ["parallel_subagent", { tasks: [LOOK] }],
];

suite("A3: agents that are called without a question", () => {
  for (const [tool, input] of WAYS) {
    test(`A3: an agent of the user is called without a question by ${tool}`, async () => {
      await using here = await agentStage({ "config/sous/agents/scout.md": agentFile("scout") });
      const { result, starts } = await here.run({ sous: [calls(tool, input), ...DONE], "**": [{ text: "Found." }] });
      assert.deepEqual([result.status, starts.map(({ agent }) => agent)], ["completed", ["sous", "scout"]]);
    });

    for (const [effect, pattern, denied] of [
      ["deny", "subagent(scout)", []],
      ["deny", "subagent_*", []],
      ["deny", "*_scout", []],
      ["ask", "subagent(s*)", [{ path: "sous", toolName: tool, input }]],
      ["ask", "subagent_scout", [{ path: "sous", toolName: tool, input }]],
    ] as const) {
      test(`A3: ${effect} ${pattern} goes before the default, also for ${tool}`, async () => {
        await using here = await agentStage({
          "config/sous/agents/scout.md": agentFile("scout"),
          "config/sous/config.yaml": `permissions: [ { ${effect}: "${pattern}" } ]\n`,
        });
        const { result, starts } = await here.run({ sous: [calls(tool, input), ...DONE], "**": [{ text: "Found." }] });
        assert.deepEqual([starts.length, result.denied], [1, denied]);
      });
    }
  }

  test("A3: an agent of a project is called without a question once the project is trusted", async () => {
    await using here = await agentStage({ "project/.sous/agents/scout.md": agentFile("scout") });
    const script = { sous: [calls("subagent_scout", { task: "Look." }), ...DONE], "**": [{ text: "Found." }] };
    const before = await here.run(script);
    assert.match(before.results[0]?.output ?? "", /^Unknown tool: subagent_scout\./);
    await here.trust();
    const { result, starts } = await here.run(script);
    assert.deepEqual([result.status, starts.map(({ path }) => path)], ["completed", ["sous", "sous/scout"]]);
  });

  test("A3: the action of a called agent asks for itself", async () => {
    await using here = await agentStage({ "config/sous/agents/scout.md": agentFile("scout", "tools: [terminal]") });
    const { result } = await here.run({
      sous: [calls("subagent_scout", { task: "Look." }), ...DONE],
      "**": [calls("terminal", { command: "touch made" }), { text: "Found." }],
    });
    assert.deepEqual(result.denied, [{ path: "sous/scout", toolName: "terminal", input: { command: "touch made" } }]);
  });

  test("A3: /tools tells which agents are called without a question", () => {
    const style = chooseStyle({ color: "never", isAscii: true, isTerminal: false, env: {} });
    const tools = [namedAgentTool(agent({ name: "scout", description: "Finds." }))];
    const lines = (...effects: (RuleAnswer["effect"] | undefined)[]) =>
      effects.map((effect) => {
        const application = { configuration: DEFAULT_CONFIGURATION, ruleOn: () => effect };
        return toolLines(agent({ name: "sous", tools }), application, 80, style);
      });
    assert.deepEqual(lines("allow", "ask", undefined, "deny"), [
      ["  subagent_scout  Finds."],
      ["  subagent_scout  asks first. Finds."],
      ["  subagent_scout  asks first. Finds."],
      ["  subagent_scout  refused by a rule. Finds."],
    ]);
  });

  test("/tools has a gap behind the longest name of a tool", () => {
    const style = chooseStyle({ color: "never", isAscii: true, isTerminal: false, env: {} });
    const name = "mcp__toy__add_two_numbers_and_more_of_them_80af8e6e";
    const tools = [tool({ name, description: "Adds.", tier: "observe", inputSchema: {}, execute: () => "" })];
    const application = { configuration: DEFAULT_CONFIGURATION, ruleOn: () => undefined };
    assert.deepEqual(toolLines(agent({ name: "sous", tools }), application, 80, style), [`  ${name}  Adds.`]);
  });

  test("/tools tells which tools of a server a rule allows", () => {
    const style = chooseStyle({ color: "never", isAscii: true, isTerminal: false, env: {} });
    const made = ["mcp__toy__a", "mcp__toy__b", "terminal"].map((name) =>
      tool({ name, description: "Does.", tier: "confirm", inputSchema: {}, execute: () => "" }),
    );
    const ruleOn = (name: string) => (name === "mcp__toy__b" ? undefined : ("allow" as const));
    const application = { configuration: DEFAULT_CONFIGURATION, ruleOn };
    assert.deepEqual(toolLines(agent({ name: "sous", tools: made }), application, 80, style), [
      "  mcp__toy__a  Does.",
      "  mcp__toy__b  asks first. Does.",
      "  terminal     asks first. Does.",
    ]);
  });

  test("B5.3: permissions test tells of the default rule, and of one that goes before it", async () => {
    await using here = await agentStage({ "config/sous/agents/scout.md": agentFile("scout") });
    const judged = async () => {
      const { stdout } = await here.command("permissions", "test", "subagent(scout)", "--json");
      const { answer, decided_by } = JSON.parse(stdout);
      return [answer, decided_by];
    };
    const file = join(here.path, "config/sous/agents/scout.md");
    assert.deepEqual(await judged(), ["allow", `allow subagent(scout) (default for the agent ${file})`]);
    const config = join(here.path, "config/sous/config.yaml");
    await writeFile(config, 'permissions:\n  - ask: "subagent(s*)"\n');
    assert.deepEqual(await judged(), ["ask", `ask subagent(s*) (${config}:2)`]);
    const unknown = await here.command("permissions", "test", "subagent(skout)");
    assert.deepEqual([unknown.code, unknown.stderr], [2, "error: Unknown agent skout; known: scout\n"]);
  });
});

suite("B1: agent in a call names an agent of a file", () => {
  test("B1: subagent and parallel_subagent take the name of an agent, with a label, turns and a schema", async () => {
    await using here = await agentStage({ "config/sous/agents/scout.md": agentFile("scout") });
    const schema = { type: "object", properties: { found: { type: "boolean" } }, required: ["found"] };
    const named = { agent: "scout", task_prompt: "Look." };
    const { result, starts } = await here.run({
      sous: [
        calls("subagent", { ...named, label: "first", max_turns: 3, output_schema: schema }),
        calls("parallel_subagent", {
          tasks: [
            { ...named, label: "second" },
            { label: "third", task_prompt: "Do." },
          ],
        }),
        ...DONE,
      ],
      "sous/first": [{ text: '{"found":true}' }],
      "**": [{ text: "Found." }],
    });
    assert.equal(result.status, "completed");
    const [root, ...children] = starts;
    assert.deepEqual(
      children.map(({ path, agent, maxTurns, rights }) => ({ path, agent, maxTurns, use: rights.use })),
      [
        { path: "sous/first", agent: "scout", maxTurns: 3, use: ["list_files"] },
        { path: "sous/second", agent: "scout", maxTurns: 10, use: ["list_files"] },
        { path: "sous/third", agent: "subagent", maxTurns: 10, use: root?.rights.use },
      ],
    );
  });

  test("B1: a child that may delegate can name an agent, too, and it has at most what that child may pass on", async () => {
    await using here = await agentStage({
      "config/sous/agents/scout.md": agentFile("scout", "tools: [list_files, terminal]"),
      "config/sous/agents/reader.md": agentFile("reader", "tools: [list_files]\ndelegate: true"),
    });
    const { starts } = await here.run({
      sous: [
        calls("subagent", { label: "mid", task_prompt: "Have it looked at." }),
        calls("subagent_reader", { task: "Have it looked at, too." }),
        ...DONE,
      ],
      "sous/mid": [calls("subagent", LOOK), ...DONE],
      "sous/reader": [calls("subagent", LOOK), ...DONE],
      "**": [{ text: "Found." }],
    });
    const scouts = starts.filter(({ agent }) => agent === "scout");
    assert.deepEqual(
      scouts.map(({ path, rights }) => [path, rights.use]),
      [
        ["sous/mid/look", ["list_files", "terminal"]],
        ["sous/reader/look", ["list_files"]],
      ],
    );
  });

  test("B1: an unknown name is answered with those there are, the nearest first", async () => {
    await using here = await agentStage({
      "config/sous/agents/a.md": agentFile("archivist"),
      "config/sous/agents/b.md": agentFile("scout"),
    });
    const { refused } = await here.run({ sous: [calls("subagent", { ...LOOK, agent: "skout" }), ...DONE] });
    assert.deepEqual(
      refused.map(({ message }) => message),
      ["Unknown agent: skout. Known: scout, archivist."],
    );
  });

  test("a run with such a child is continued after a crash, and not without the file", async () => {
    const file = "config/sous/agents/scout.md";
    await using here = await agentStage({ [file]: agentFile("scout") });
    await here.run({ sous: [calls("subagent", LOOK), ...DONE], "sous/look": [calls("list_files", {}), ...DONE] });
    await killRunsAt(
      join(here.path, "data/sous/sous.db"),
      ({ type, path }) => path === "sous/look" && type === "tool-call-end",
    );
    await rm(join(here.path, file));
    const gone = await here.command("resume");
    assert.match(gone.stderr, /^error: This run had agents that are not here now: scout\. Put back the file of each /);
    await writeFile(join(here.path, file), agentFile("scout"));
    const resumed = await here.command("resume", "--json");
    assert.equal(resumed.code, 0, resumed.stderr);
    const { result, agents } = JSON.parse(resumed.stdout);
    assert.deepEqual([result, agents.map(({ path }: { path: string }) => path)], ["Done.", ["sous", "sous/look"]]);
  });
});

const NOTES = "Use tabs.";

suite("the notes that every agent of a tree is told", () => {
  const script = {
    sous: [
      calls("subagent", { label: "plain", task_prompt: "Do." }),
      calls("subagent", { label: "own", task_prompt: "Do it.", system_prompt: "You are brief." }),
      calls("subagent_scout", { task: "Look." }),
      calls("subagent_loner", { task: "Look away." }),
      ...DONE,
    ],
    "**": [{ text: "Found." }],
  };
  const files = {
    "project/AGENTS.md": NOTES,
    "config/sous/agents/scout.md": agentFile("scout"),
    "config/sous/agents/loner.md": agentFile("loner", "tools: []\nnotes: false"),
  };

  test("B1.5: an agent is told the folder, the day, the system and notes of a trusted project, and nothing else of its parent", async () => {
    await using here = await agentStage(files);
    await here.trust();
    const { starts } = await here.run(script);
    const [root] = starts;
    const [facts = "", , ...notes] = (root?.notes ?? "").split("\n\n");
    const [folder, day] = facts.split("\n");
    assert.equal(folder, `You work in ${here.root}. Paths are relative to it, and file tools cannot leave it.`);
    assert.match(day ?? "", /^Today is \d{4}-\d\d-\d\d\. The system is \w+, and commands run in (bash|sh)\.$/);
    assert.deepEqual(notes, [`<agents_md>\n${NOTES}\n</agents_md>`]);
    const whole = root?.notes;
    const plain = starts[1]?.instructions;
    assert.match(plain ?? "", /^You are a subagent: [^\n]*$/);
    assert.deepEqual(
      starts.slice(1).map((start) => ({ path: start.path, instructions: start.instructions, notes: start.notes })),
      [
        { path: "sous/plain", instructions: plain, notes: whole },
        { path: "sous/own", instructions: "You are brief.", notes: whole },
        { path: "sous/scout", instructions: "You find.", notes: whole },
        { path: "sous/loner", instructions: "You find.", notes: facts },
      ],
    );
  });

  test("B4.1: an agent is told no notes of a project that is not trusted", async () => {
    await using here = await agentStage(files);
    const { starts } = await here.run(script);
    assert.equal(starts.length, 5);
    for (const { notes } of starts) assert.match(notes ?? "", /^You work in [^\n]*\nToday is [^\n]*$/);
  });

  test("a rerun reads what was recorded, whatever the day and the files are now", async () => {
    await using here = await agentStage(files);
    await here.trust();
    assert.equal((await here.run(script)).result.status, "completed");
    await writeFile(join(here.root, "AGENTS.md"), "Use spaces.");
    await rm(join(here.path, "config/sous/agents/loner.md"));
    const rerun = await here.command("replay", "--rerun", "--id", "last");
    assert.deepEqual([rerun.code, rerun.stderr], [0, ""], rerun.stdout);
  });

  test("notes that are cut are told to the person, too", async () => {
    await using here = await agentStage({ "project/AGENTS.md": `${NOTES}\n`.repeat(8000) });
    await here.trust();
    const { warnings, starts } = await here.run({ sous: DONE });
    assert.deepEqual(warnings, [
      "warning: AGENTS.md is longer than 64 KB: agents read its beginning, and not the rest",
    ]);
    assert.match(starts[0]?.notes ?? "", /\[AGENTS\.md is longer than 64 KB; the rest was left out\.\]/);
  });
});
