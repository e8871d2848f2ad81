/** Every limit that a definition can name is heeded, wherever the agent stands. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import { after, calls, hangs, says } from "../../../src/testing/steps.ts";
import { openStage } from "../../support/requirements/support.ts";

suite("H1: a definition's own limits", () => {
  test("limits of a root are the smaller of its budget and the one given to run", async () => {
    const stage = openStage({ lead: [says("A long answer.")] });
    const { status, error } = await stage.run(stage.lead({ budget: { tokens: 100 } }), "Go", {
      budget: { tokens: 1e6 },
    });
    assert.equal(status, "budget_exceeded");
    assert.match(error?.message ?? "", /^Token limit exceeded: \d+\/100 \(spent /);
    assert.deepEqual(stage.requestsOf("lead"), []);
  });

  test("limits of a root hold for its children too", async () => {
    const task = (label: string) => ({ label, task_prompt: `Look at ${label}.` });
    const stage = openStage({
      lead: [calls("parallel_subagent", { tasks: [task("a"), task("b")] }), says("Done.")],
      "lead/*": [says("Seen.")],
    });
    await stage.run(stage.lead({ budget: { executions: 1 } }));
    const [result] = stage.resultsOf("lead");
    assert.match(result?.output ?? "", /Execution limit reached: 1\/1/);
    assert.equal(stage.eventsOf("run-start").length, 2);
  });

  test("limits in time end a root as timeout", async () => {
    const stage = openStage({ lead: [[after(5000), says("Too late.")]] });
    const { status, error, text } = await stage.run(stage.lead({ timeoutMs: 1000 }));
    assert.deepEqual([status, error?.message, text], ["timeout", "The run timed out after 1000 ms", ""]);
  });

  test("limits in seconds of a child's budget end the child as timeout, and its parent continues", async () => {
    const stage = openStage({
      lead: [calls("subagent_slow", { task: "Wait." }), says("It was late.")],
      "lead/slow": [hangs()],
    });
    const slow = agent({ name: "slow", budget: { durationMs: 2000 }, timeoutMs: 60_000 });
    const { status } = await stage.run(stage.lead({ subagents: [slow] }));
    assert.equal(status, "completed");
    assert.match(stage.resultsOf("lead")[0]?.output ?? "", /^Time limit exceeded: 2s\/2s/);
  });

  test("limits that are more than what is left are refused before any model call", async () => {
    const stage = openStage({
      lead: [calls("subagent_rich", { task: "Spend." }), says("No.")],
      "lead/rich": [says("Never.")],
    });
    const rich = agent({ name: "rich", budget: { tokens: 1e6 } });
    await stage.run(stage.lead({ subagents: [rich] }), "Go", { budget: { tokens: 50_000 } });
    assert.match(stage.resultsOf("lead")[0]?.output ?? "", /^Token limit exceeded: \d+\/50000/);
    assert.deepEqual(stage.requestsOf("lead/rich"), []);
  });
});

test("a refused sibling keeps its path: names follow the order of the calls, not who could start", async () => {
  const stage = openStage({
    lead: [
      [
        calls("subagent", { label: "scout", task_prompt: "One." }),
        calls("subagent", { label: "scout", task_prompt: "Two.", allowed_tools: ["nothing"] }),
        calls("subagent", { label: "scout", task_prompt: "Three." }),
      ],
      says("Done."),
    ],
    "lead/*": [says("Seen.")],
  });
  await stage.run(stage.lead());
  assert.deepEqual(
    stage.eventsOf("run-start").map(({ path }) => path),
    ["lead", "lead/scout", "lead/scout#3"],
  );
  assert.deepEqual(
    stage.eventsOf("spawn-refused").map(({ childPath }) => childPath),
    ["lead/scout#2"],
  );
});
