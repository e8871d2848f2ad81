/** Care with children: names that cannot fake a place, tasks that go in circles, watchers that misbehave. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import type { SousEvent } from "../../../src/core/event.ts";
import { calls, says, streams } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";

const spawn = (label: string, task_prompt = "Look.") => calls("subagent", { label, task_prompt });

suite("B7: the place of a child", () => {
  test("B7, I2: two children with one label have different paths and ids, alone and in parallel", async () => {
    const tasks = ["a", "b", "a"].map((label, index) => ({ label, task_prompt: `Task ${index}.` }));
    const stage = openStage({
      lead: [[spawn("a"), spawn("a")], calls("parallel_subagent", { tasks }), says("Done.")],
      "lead/*": [says("Seen.")],
    });
    const { agents } = await stage.run(stage.lead());
    assert.deepEqual(
      agents.map(({ path, label }) => [path, label]),
      [
        ["lead", "lead"],
        ["lead/a", "a"],
        ["lead/a#2", "a"],
        ["lead/a#3", "a"],
        ["lead/b", "b"],
        ["lead/a#4", "a"],
      ],
    );
    assert.equal(new Set(stage.eventsOf("run-start").map(({ agentId }) => agentId)).size, 6);
  });

  const labels: [string, string, string][] = [
    ["a slash", "../../etc", "lead/..%2F..%2Fetc"],
    ["a number of its own", "a#2", "lead/a%232"],
    ["a percent sign", "100%", "lead/100%25"],
    ["terminal codes", "\u001b[31mred\u0007", "lead/[31mred"],
    ["line breaks", "two\n lines", "lead/two lines"],
    ["text that turns around", "abc\u202edef", "lead/abcdef"],
    ["nothing that can be seen", "\u200b", "lead/%2E"],
    ["dots", "..", "lead/%2E."],
    ["a name every object has", "__proto__", "lead/__proto__"],
    ["ten thousand characters", "x".repeat(10_000), `lead/${"x".repeat(80)}`],
    ["half a character", "a\ud800", "lead/a\ufffd"],
  ];
  for (const [name, label, path] of labels) {
    test(`B7: a label with ${name} cannot fake one`, async () => {
      const stage = openStage({ lead: [[spawn(label), spawn(label)], says("Done.")], "lead/**": [says("Seen.")] });
      const { agents } = await stage.run(stage.lead());
      assert.deepEqual(
        agents.slice(1).map((each) => each.path),
        [path, `${path}#2`],
      );
    });
  }
});

suite("B2: a task that goes in circles", () => {
  const refusal = "This is the task you were given: do it yourself";

  test("B2: a task that is handed on word for word is refused, and nothing is spent", async () => {
    const stage = openStage({
      lead: [spawn("x", "The task."), spawn("x", "Part of it."), says("Done.")],
      "lead/x": [says("Seen.")],
    });
    await stage.run(stage.lead(), "The task.", { budget: { executions: 1 } });
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output, isError }) => [output.split("\n")[0], isError]),
      [
        [refusal, true],
        ["Seen.", false],
      ],
    );
    assert.deepEqual(
      stage.eventsOf("spawn-refused").map(({ label, errorType }) => [label, errorType]),
      [["x", "invalid_input"]],
    );
  });

  test("B2: a task that an ancestor has is refused", async () => {
    const stage = openStage({
      lead: [spawn("x", "A part."), says("Done.")],
      "lead/x": [spawn("y", "The task."), spawn("z", "A part."), says("Then myself.")],
    });
    await stage.run(stage.lead(), "The task.");
    assert.deepEqual(
      stage.resultsOf("lead/x").map(({ output }) => output),
      [refusal, refusal],
    );
  });

  test("B2: a task may go to another agent, or to the same with other tools", async () => {
    const stage = openStage({
      lead: [
        calls("subagent_scout", { task: "The task." }),
        calls("subagent", { label: "x", task_prompt: "The task.", allowed_tools: ["look"] }),
        says("Done."),
      ],
      "lead/scout": [calls("subagent_scout", { task: "The task." }), says("Seen.")],
      "lead/x": [says("Seen.")],
    });
    const inner = agent({ name: "scout" });
    const scout = agent({ name: "scout", subagents: [inner] });
    await stage.run(stage.lead({ subagents: [scout], tools: [simpleTool("look")] }), "The task.");
    assert.ok(stage.resultsOf("lead").every(({ isError }) => !isError));
    assert.equal(stage.resultsOf("lead/scout")[0]?.output, refusal);
  });
});

suite("a watcher", () => {
  test("a watcher that throws or never returns does not change the run", async () => {
    const script = {
      lead: [spawn("x"), streams("All ", "done.")],
      "lead/x": [calls("look"), says("Seen.")],
    };
    const outcome = async (onEvent: ((event: SousEvent) => void) | undefined) => {
      const stage = openStage(script);
      const handle = stage.runtime.run(stage.lead({ tools: [simpleTool("look")] }), "The task.", { onEvent });
      const result = await stage.world.run(() => handle);
      return { result, events: await stage.store.read(result.runId) };
    };
    const undisturbed = await outcome(undefined);
    const broken = () => {
      throw new Error("a broken listener");
    };
    const endless = () => new Promise<never>(() => {});
    const rejecting = () => Promise.reject(new Error("a broken promise"));
    for (const listener of [broken, endless, rejecting]) assert.deepEqual(await outcome(listener), undisturbed);
  });

  test("a watcher hears the events of a tree in one order without gaps, stored before they are shown", async () => {
    const stage = openStage({
      lead: [[spawn("x"), spawn("y")], says("Done.")],
      "lead/*": [calls("look"), says("Seen.")],
    });
    const keptBefore: boolean[] = [];
    const onEvent = (event: SousEvent) => {
      if (event.seq === undefined) return;
      void stage.store.run(event.runId).then((record) => keptBefore.push(record !== undefined));
    };
    const result = await stage.run(stage.lead({ tools: [simpleTool("look")] }), "The task.", { onEvent });
    const numbers = stage.events.flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
    assert.deepEqual(
      numbers,
      Array.from(numbers, (_, index) => index + 1),
    );
    assert.deepEqual(
      await stage.store.read(result.runId),
      stage.events.filter(({ seq }) => seq !== undefined),
    );
    assert.ok(keptBefore.length > 0 && keptBefore.every((isKept) => isKept));
  });
});
