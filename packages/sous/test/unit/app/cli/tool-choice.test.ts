/** `--tools`, `--deny-tools`, `--no-delegate` and `--max-agents 0`: exactly what was asked for, for the whole tree. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { messageOf } from "../../../../src/core/errors.ts";
import { agentFile, agentStage, calls, DONE } from "../../../support/app/cli/agent-stage.ts";

const FILES = {
  "config/sous/agents/scout.md": agentFile("scout", "tools: [read_file, terminal]\ndelegate: true"),
  "config/sous/agents/reviewer.md": agentFile("reviewer"),
};
const ORDINARY = ["read_file", "list_files", "glob", "grep", "write_file", "edit_file", "terminal", "fetch"];
const COMPANIONS = ["subagent_send", "subagent_report", "subagent_wait", "subagent_cancel", "subagent_list"];
const NAMED = ["subagent_reviewer", "subagent_scout"];

/** A tool that there is not is answered with those there are. */
const ASK = calls("nothing", {});

function toolsIn(output: string | undefined): string[] {
  const [, list] = /^Unknown tool: nothing\. (?:You have no tools|Your tools: (.*))\.$/s.exec(output ?? "") ?? [];
  assert.match(output ?? "", /^Unknown tool: nothing\./);
  return list?.split(", ") ?? [];
}

suite("the root has exactly the tools that were asked for", () => {
  const cases: [options: string[], tools: string[]][] = [
    [[], [...ORDINARY, ...NAMED, "subagent", "parallel_subagent", ...COMPANIONS]],
    [
      ["--tools", "read_file,grep"],
      ["read_file", "grep"],
    ],
    [["--tools", ""], []],
    [
      ["--tools", "grep,subagent"],
      ["grep", "subagent", ...COMPANIONS],
    ],
    [
      ["--tools", "parallel_subagent"],
      ["parallel_subagent", ...COMPANIONS],
    ],
    [
      ["--tools", "read_file,subagent_scout"],
      ["read_file", "subagent_scout", ...COMPANIONS],
    ],
    [["--tools", "read_file,subagent_send"], ["read_file"]],
    [["--no-delegate"], ORDINARY],
    [["--deny-tools", "subagent"], ORDINARY],
    [["--max-agents", "0"], ORDINARY],
    [
      ["--deny-tools", "subagent_scout"],
      [...ORDINARY, "subagent_reviewer", "subagent", "parallel_subagent", ...COMPANIONS],
    ],
    [
      ["--tools", "grep,subagent,parallel_subagent", "--deny-tools", "parallel_subagent,subagent_cancel"],
      ["grep", "subagent", ...COMPANIONS.filter((name) => name !== "subagent_cancel")],
    ],
    [["--tools", "grep,subagent", "--no-delegate"], ["grep"]],
  ];
  for (const [options, tools] of cases) {
    test(`the root has exactly the tools that were asked for with ${options.length === 0 ? "nothing" : options.map((each) => each || "''").join(" ")}`, async () => {
      await using here = await agentStage(FILES);
      const { results } = await here.run({ sous: [ASK, ...DONE] }, ...options);
      assert.deepEqual(toolsIn(results[0]?.output).toSorted(), tools.toSorted());
    });
  }

  for (const [options, message] of [
    [["--tools", "reed_file"], /^Unknown tool reed_file; did you mean read_file\? there are read_file, list_files, /],
    [["--deny-tools", "subagent_skout"], /^Unknown tool subagent_skout; did you mean subagent_scout\? /],
    [["--tools", "xylophone"], /^Unknown tool xylophone; there are read_file, /],
  ] as const) {
    test(`an unknown name is refused with the nearest: ${options.join(" ")}`, async () => {
      await using here = await agentStage(FILES);
      await assert.rejects(here.run({ sous: DONE }, ...options), (error) => {
        assert.match(messageOf(error), message);
        return true;
      });
    });
  }
});

suite("B1.1: children have at most what the root was left", () => {
  const LOOK = { label: "look", task_prompt: "Look." };

  test("B1.1: generic children, named ones and their children have at most what the root was left", async () => {
    await using here = await agentStage(FILES);
    const { results, refused } = await here.run(
      {
        sous: [
          calls("subagent", LOOK),
          calls("subagent_scout", { task: "Look." }),
          calls("subagent", { ...LOOK, agent: "reviewer" }),
          ...DONE,
        ],
        "**": [ASK, ...DONE],
      },
      "--tools",
      "read_file,subagent,subagent_scout",
    );
    const told = results.filter(({ path }) => path !== "sous").map(({ path, output }) => [path, toolsIn(output)]);
    const children = ["read_file", "subagent", ...COMPANIONS];
    assert.deepEqual(told, [
      ["sous/look", children],
      ["sous/scout", children],
    ]);
    assert.deepEqual(
      refused.map(({ message }) => message),
      ["Unknown agent: reviewer. Known: scout."],
    );
  });

  test("B1.1: an agent whose file lets it delegate has nothing to do it with, where the root has nothing", async () => {
    await using here = await agentStage(FILES);
    const { results } = await here.run(
      { sous: [calls("subagent_scout", { task: "Look." }), ...DONE], "**": [ASK, ...DONE] },
      "--tools",
      "read_file,subagent_scout",
    );
    assert.deepEqual(toolsIn(results.find(({ path }) => path === "sous/scout")?.output), ["read_file"]);
  });

  for (const [option, ...values] of [["--no-delegate"], ["--tools", "read_file,subagent"]] as const) {
    test(`B1.3: a run that was started with ${option} is continued with at most the same`, async () => {
      await using here = await agentStage(FILES);
      const { results } = await here.run({ sous: [ASK, ...DONE] }, option, ...values);
      const { code, stdout } = await here.command("resume", "last", "--fork", "--json");
      assert.equal(code, 0);
      const { run_id } = JSON.parse(stdout);
      assert.equal(toolsIn(results[0]?.output).includes("parallel_subagent"), false);
      const shown = await here.command("replay", "--id", run_id, "--request", "1", "--json");
      assert.deepEqual(JSON.parse(shown.stdout).may_delegate, option !== "--no-delegate");
    });
  }
});

test("B1.3: the options take away on resume, and give nothing back", async () => {
  await using here = await agentStage(FILES);
  await here.run({ sous: [ASK, ...DONE] }, "--tools", "read_file,grep");
  const toolsOf = async (...options: string[]) => {
    const resumed = await here.command("resume", "last", "--fork", "--json", ...options);
    assert.equal(resumed.code, 0, resumed.stderr);
    const { run_id } = JSON.parse(resumed.stdout);
    const shown = await here.command("replay", "--id", run_id, "--request", "1", "--json");
    return JSON.parse(shown.stdout).allowed_tools;
  };
  assert.deepEqual(await toolsOf("--tools", "read_file,terminal,subagent"), ["read_file"]);
});

suite("the tools for children name the agents that can be called", () => {
  test("the first of the tools for children has the name and the first sentence of each agent, within 8 KB", async () => {
    const { agent } = await import("../../../../src/core/agent.ts");
    const { DelegationTools } = await import("../../../../src/runtime/subagents/delegation-tools.ts");
    const { DEFAULT_LIMITS } = await import("../../../../src/core/words/limits.ts");
    const tools = new DelegationTools(DEFAULT_LIMITS, () => 0);
    const offered = (count: number, deny: string[] = []) => {
      const callable = Array.from({ length: count }, (_, index) =>
        agent({ name: `agent-${index}`, description: `Finds ${"x".repeat(60)}\nand more. Use it always.` }),
      );
      return tools.offered({ subagents: [], delegate: true, own: [], callable, deny: new Set(deny) });
    };
    const [subagent, parallel] = offered(2);
    const list = `Agents that agent can name:\n- agent-0: Finds ${"x".repeat(60)} and more.\n- agent-1: Finds ${"x".repeat(60)} and more.`;
    assert.ok(subagent?.description.endsWith(`\n\n${list}`), subagent?.description);
    assert.ok(parallel?.description.endsWith(" agent is one of those that subagent lists."), parallel?.description);
    assert.ok(offered(2, ["subagent"])[0]?.description.endsWith(list));
    const [many] = offered(500);
    const [none] = offered(0);
    assert.ok((many?.description.length ?? 0) - (none?.description.length ?? 0) <= 8192);
    assert.match(many?.description ?? "", /\n- and \d+ more; agents_find finds them by what they do$/);
  });
});
