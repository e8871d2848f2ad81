/** Two stored runs of one task, side by side. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../src/core/agent.ts";
import { type AgentDiff, diffRuns } from "../../../../src/storage/replay/diff-runs.ts";
import { calls, type Script, says } from "../../../../src/testing/steps.ts";
import { openStage, type Stage, simpleTool } from "../../../support/requirements/support.ts";

const grep = simpleTool("grep", (input) => `found ${JSON.stringify(input)}`);
const scout = agent({ name: "scout", instructions: "You find.", tools: [grep] });

/** Two runs of one task in one store; the second follows another script. */
async function twoRuns(one: Script, other: Script): Promise<{ stage: Stage; ids: [string, string] }> {
  const stage = openStage(one);
  const first = await stage.run(stage.lead({ tools: [grep], subagents: [scout] }), "Find it.");
  const second = openStage(other, { seed: 2, runtime: { store: stage.store } });
  const { runId } = await second.run(second.lead({ tools: [grep], subagents: [scout] }), "Find it.");
  return { stage, ids: [first.runId, runId] };
}

const SCRIPT: Script = {
  lead: [calls("grep", { pattern: "a" }), calls("subagent_scout", { task: "Look." }), says("It is there.")],
  "lead/scout": [calls("grep", { pattern: "b" }), says("src/a.ts:1")],
};

suite("G4: two runs side by side", () => {
  test("two runs are the same when they did the same, whatever their ids and times are", async () => {
    const { stage, ids } = await twoRuns(SCRIPT, SCRIPT);
    const diff = await diffRuns(stage.store, ...ids);
    assert.equal(diff.isSame, true);
    assert.deepEqual(diff.agents.map(inShort), [
      ["lead", "same", "task = answer = tool = answer = tool = answer = end ="],
      ["lead/scout", "same", "task = answer = tool = answer = end ="],
    ]);
    assert.deepEqual(diff.left.totals, diff.right.totals);
    const { totals, runId, ...left } = diff.left;
    assert.equal(runId, ids[0]);
    assert.deepEqual(left, { agent: "lead", model: "scripted/model", task: "Find it." });
    const { usage, ...rest } = totals;
    assert.ok(usage.totalTokens > 0);
    assert.deepEqual(rest, {
      status: "completed",
      stopReason: undefined,
      agents: 2,
      turns: 5,
      toolCount: 3,
      costUsd: null,
      durationMs: 0,
    });
  });

  test("a comparison shows what changed, what is only on one side, and which fields differ", async () => {
    const { stage, ids } = await twoRuns(SCRIPT, {
      lead: [
        calls("grep", { pattern: "c" }),
        calls("grep", { pattern: "d" }),
        calls("subagent", { label: "helper", task_prompt: "Help." }),
        says("It is not there."),
      ],
      "lead/helper": [says("No.")],
    });
    const diff = await diffRuns(stage.store, ...ids);
    assert.equal(diff.isSame, false);
    assert.deepEqual(diff.agents.map(inShort), [
      ["lead", "changed", "task = answer = tool ~ answer = tool < tool > answer > tool > answer ~ end ~"],
      ["lead/helper", "only-right", "task > answer > end >"],
      ["lead/scout", "only-left", "task < answer < tool < answer < end <"],
    ]);
    const changed = diff.agents[0]?.rows.find(({ mark }) => mark === "changed");
    assert.deepEqual(changed, {
      mark: "changed",
      left: {
        kind: "tool",
        toolName: "grep",
        input: { pattern: "a" },
        output: 'found {"pattern":"a"}',
        isError: false,
        children: [],
      },
      right: {
        kind: "tool",
        toolName: "grep",
        input: { pattern: "c" },
        output: 'found {"pattern":"c"}',
        isError: false,
        children: [],
      },
      changes: ["input", "output"],
    });
    const end = diff.agents[0]?.rows.at(-1);
    assert.deepEqual(end?.changes, ["text"]);
  });

  test("a comparison names the children of a call by their paths", async () => {
    const { stage, ids } = await twoRuns(SCRIPT, SCRIPT);
    const [lead] = (await diffRuns(stage.store, ...ids)).agents;
    const children = lead?.rows.flatMap(({ left }) => (left?.kind === "tool" ? left.children : []));
    assert.deepEqual(children, ["lead/scout"]);
  });

  test("the two runs may be a child and a root: paths begin with the compared run", async () => {
    const stage = openStage({
      lead: [calls("subagent_scout", { task: "Look." }), says("Done.")],
      "**": [says("There.")],
    });
    const tree = await stage.run(stage.lead({ subagents: [scout] }));
    const alone = await stage.run(scout.with({ model: stage.model }), "Look.");
    const child = tree.agents.find(({ path }) => path === "lead/scout");
    const diff = await diffRuns(stage.store, child?.id ?? "", alone.runId);
    assert.deepEqual(diff.agents.map(inShort), [["scout", "same", "task = answer = end ="]]);
  });

  test("follow-ups of one agent are its further steps", async () => {
    const stage = openStage({ lead: [says("One."), says("Two.")] });
    const first = stage.start(stage.lead(), "Say one.");
    await stage.end(first);
    const once = openStage({ lead: [says("One.")] }, { seed: 2, runtime: { store: stage.store } });
    const { runId } = await once.run(once.lead(), "Say one.");
    await stage.end(first.followUp("And two?"));
    const diff = await diffRuns(stage.store, first.id, runId);
    assert.deepEqual(diff.agents.map(inShort), [["lead", "changed", "task = answer = end = task < answer < end <"]]);
    assert.deepEqual([diff.left.totals.turns, diff.right.totals.turns], [2, 1]);
  });

  test("an id that is not in the store is said to be unknown", async () => {
    const stage = openStage({ lead: [says("One.")] });
    const { runId } = await stage.run(stage.lead());
    await assert.rejects(diffRuns(stage.store, runId, "01ARZ3NDEKTSV4RRFFQ69G5FAV"), {
      name: "UserError",
      message: "No run with the id 01ARZ3NDEKTSV4RRFFQ69G5FAV",
    });
  });
});

const SIGNS = { same: "=", changed: "~", "only-left": "<", "only-right": ">" } as const;

function inShort({ path, mark, rows }: AgentDiff): [path: string, mark: string, rows: string] {
  const row = rows.map((each) => `${(each.left ?? each.right)?.kind} ${SIGNS[each.mark]}`);
  return [path, mark, row.join(" ")];
}
