/** Section B11: children that run while their parent goes on. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { textOf } from "../../../src/core/message.ts";
import type { ModelRequest } from "../../../src/core/model.ts";
import { after, calls, fails, hangs, says } from "../../../src/testing/steps.ts";
import { openStage, type Stage, simpleTool } from "../../support/requirements/support.ts";

const start = (label: string, more: object = {}) =>
  calls("subagent", { label, task_prompt: `Look at ${label}.`, background: true, ...more });
const withId = (toolName: string, more: object = {}) => {
  return ({ messages }: ModelRequest) => calls(toolName, { subagent_id: idIn(messages), ...more });
};

/** The id of the child that was started first, or as one of the next. */
function idIn(messages: unknown, place = 0): string {
  return [...JSON.stringify(messages).matchAll(/subagent_id: (\w{26})/g)][place]?.[1] ?? "";
}

/** The user messages the lead has read after its task. */
function toldTo(stage: Stage, path = "lead"): string[] {
  const { messages = [] } = stage.requestsOf(path).at(-1) ?? {};
  return messages.slice(1).flatMap((message) => (message.role === "user" ? [textOf(message)] : []));
}

suite("B11: a background child", () => {
  test("B11: a background child runs while its parent continues, and its report arrives as a later message, once", async () => {
    const stage = openStage({
      lead: [start("x"), calls("look"), [after(500), calls("look")], says("All done.")],
      "lead/x": [[after(100), says("A wall.")]],
    });
    const looked: number[] = [];
    const look = simpleTool("look", () => void looked.push(stage.world.clock.monotonic()));
    const result = await stage.run(stage.lead({ tools: [look] }));
    assert.deepEqual([result.text, looked], ["All done.", [0, 500]]);
    assert.match(stage.resultsOf("lead")[0]?.output ?? "", /^x runs in the background \(subagent_id: \w{26}\)\./);
    const told = toldTo(stage);
    assert.equal(told.length, 1);
    assert.match(told[0] ?? "", /^Report of the background subagent x:\nA wall\.\n\(subagent_id: \w{26}\)$/);
    const reports = stage.eventsOf("report");
    assert.deepEqual(
      reports.map(({ path, childRunId }) => [path, childRunId]),
      [["lead", stage.eventsOf("run-start", "lead/x")[0]?.runId]],
    );
  });

  test("B11: a background child is waited for when its parent has nothing more to do", async () => {
    const stage = openStage({
      lead: [[start("x"), start("y")], says("I wait."), says("One."), says("Both.")],
      "lead/x": [[after(1000), says("X.")]],
      "lead/y": [[after(2000), says("Y.")]],
    });
    const result = await stage.run(stage.lead());
    assert.deepEqual([result.status, result.text, result.durationMs], ["completed", "Both.", 2000]);
    assert.deepEqual(
      toldTo(stage).map((text) => text.split("\n")[1]),
      ["X.", "Y."],
    );
  });

  test("B11: a background child is cancelled instead when the caller says so", async () => {
    const stage = openStage({ lead: [start("x"), says("I do not wait.")], "lead/x": [hangs()] });
    const result = await stage.run(stage.lead(), "The task.", { onLiveChildren: "cancel" });
    assert.deepEqual([result.status, result.text, result.durationMs], ["completed", "I do not wait.", 0]);
    assert.equal(stage.eventsOf("run-end", "lead/x")[0]?.status, "cancelled");
  });

  test("B11: a background child does not outlive a parent that fails", async () => {
    const stage = openStage({ lead: [start("x"), fails("auth")], "lead/x": [hangs()] });
    const result = await stage.run(stage.lead());
    assert.equal(result.status, "failed");
    assert.deepEqual(
      stage.eventsOf("run-end").map(({ path, status }) => [path, status]),
      [
        ["lead/x", "cancelled"],
        ["lead", "failed"],
      ],
    );
  });

  test("B11: a report of a background child that came too late is heard by the parent's follow-up, once", async () => {
    const stage = openStage({
      lead: [start("x"), says("I do not wait."), says("I see."), says("Yes.")],
      "lead/x": [hangs()],
    });
    const handle = stage.start(stage.lead(), "The task.", { onLiveChildren: "cancel" });
    await stage.end(handle);
    const second = handle.followUp("What became of it?");
    await stage.end(second);
    assert.deepEqual(
      toldTo(stage).map((text) => text.split("\n").slice(0, 2)),
      [["What became of it?"], ["Report of the background subagent x:", "Subagent cancelled (x)"]],
    );
    await stage.end(second.followUp("Thanks."));
    assert.equal(stage.eventsOf("report").length, 1);
  });

  test("B11: a background child that fails is a report, not an exception", async () => {
    const stage = openStage({
      lead: [start("x"), says("I wait."), says("It failed.")],
      "lead/x": [fails("auth", { message: "No key" })],
    });
    const result = await stage.run(stage.lead());
    assert.equal(result.text, "It failed.");
    assert.match(toldTo(stage)[0] ?? "", /^Report of the background subagent x:\nSubagent failed: No key\n/);
  });

  test("B11: a background child is refused like any other when the budget is spent", async () => {
    const stage = openStage(
      { lead: [[start("x"), start("y")], says("I wait."), says("One.")], "lead/x": [says("X.")] },
      { runtime: { limits: { children: { executions: 1 } } } },
    );
    await stage.run(stage.lead());
    assert.deepEqual(
      stage.resultsOf("lead").map(({ isError }) => isError),
      [false, true],
    );
  });
});

suite("B11: subagent_wait", () => {
  test("B11: subagent_wait gives the reports it waited for, and they do not arrive again", async () => {
    const stage = openStage({
      lead: [[start("x"), start("y")], calls("subagent_wait"), calls("subagent_wait"), says("Done.")],
      "lead/x": [[after(2000), says("X.")]],
      "lead/y": [[after(1000), says("Y.")]],
    });
    const result = await stage.run(stage.lead());
    assert.equal(result.text, "Done.");
    const [, , both, none] = stage.resultsOf("lead");
    assert.match(both?.output ?? "", /^x: X\.\n\(subagent_id: \w{26}\)\n\ny: Y\.\n\(subagent_id: \w{26}\)$/);
    assert.equal(none?.output, "No background subagent is left to wait for.");
    assert.deepEqual([toldTo(stage), stage.eventsOf("report")], [[], []]);
  });

  test("B11: subagent_wait waits for the named children only; the others report as messages", async () => {
    const stage = openStage({
      lead: [
        start("x"),
        start("y"),
        ({ messages }) => calls("subagent_wait", { subagent_ids: [idIn(messages)] }),
        says("One."),
        says("Both."),
      ],
      "lead/x": [[after(1000), says("X.")]],
      "lead/y": [[after(2000), says("Y.")]],
    });
    const result = await stage.run(stage.lead());
    assert.deepEqual([result.text, stage.resultsOf("lead")[2]?.output.split("\n")[0]], ["Both.", "x: X."]);
    assert.deepEqual(
      toldTo(stage).map((text) => text.split("\n")[1]),
      ["Y."],
    );
  });

  test("B11: subagent_wait also gets a report that had arrived and was not read yet", async () => {
    const stage = openStage({
      lead: [start("x"), [calls("subagent_wait"), after(500)], says("Done.")],
      "lead/x": [[after(100), says("X.")]],
    });
    await stage.run(stage.lead());
    assert.match(stage.resultsOf("lead")[1]?.output ?? "", /^x: X\./);
    assert.deepEqual(toldTo(stage), []);
  });

  test("B11: subagent_wait that is cancelled together with its run loses no report", async () => {
    const stage = openStage({
      lead: [[start("x"), start("y")], calls("subagent_wait"), says("I see.")],
      "lead/x": [[after(100), says("X.")]],
      "lead/y": [hangs()],
    });
    const handle = stage.start(stage.lead());
    stage.when(
      (event) => event.type === "run-end" && event.path === "lead/x",
      () => stage.world.clock.ownTimer(50, () => handle.cancel()),
    );
    assert.equal((await stage.end(handle)).status, "cancelled");
    await stage.end(handle.followUp("What did they find?"));
    assert.deepEqual(
      toldTo(stage)
        .slice(1)
        .map((text) => text.split("\n").slice(0, 2))
        .sort(),
      [
        ["Report of the background subagent x:", "X."],
        ["Report of the background subagent y:", "Subagent cancelled (y)"],
      ],
    );
  });
});

suite("B11: subagent_cancel and subagent_list", () => {
  test("B11: subagent_cancel stops a child, waits for it, and its report says so", async () => {
    const stage = openStage({
      lead: [start("x"), withId("subagent_cancel"), says("Stopped.")],
      "lead/x": [hangs()],
    });
    await stage.run(stage.lead());
    assert.equal(stage.resultsOf("lead")[1]?.output, "x: cancelled");
    assert.match(toldTo(stage)[0] ?? "", /^Report of the background subagent x:\nSubagent cancelled \(x\)\n/);
  });

  test("B11: subagent_cancel with wrap-up lets a child say what it has", async () => {
    const stage = openStage({
      lead: [start("x"), withId("subagent_cancel", { mode: "wrap-up" }), says("Good.")],
      "lead/x": [[after(100), calls("look")], says("Half of it.")],
    });
    await stage.run(stage.lead({ tools: [simpleTool("look")] }));
    assert.equal(stage.resultsOf("lead")[1]?.output, "x: cancelled");
    assert.match(
      toldTo(stage)[0] ?? "",
      /^Report of the background subagent x:\nSubagent cancelled after wrapping up \(x\)\nPartial result:\nHalf of it\.\n/,
    );
  });

  test("B11: subagent_cancel reaches a child that still waits for its slot", async () => {
    const stage = openStage(
      {
        lead: [
          [start("x"), start("y")],
          ({ messages }) => calls("subagent_cancel", { subagent_id: idIn(messages, 1) }),
          says("One is enough."),
          says("Done."),
        ],
        "lead/x": [[after(1000), says("X.")]],
      },
      { runtime: { limits: { maxConcurrent: 1 } } },
    );
    const result = await stage.run(stage.lead());
    assert.equal(result.text, "Done.");
    assert.equal(stage.resultsOf("lead")[2]?.output, "y: cancelled");
    assert.deepEqual(
      stage.eventsOf("run-start").map(({ path }) => path),
      ["lead", "lead/x"],
    );
    assert.deepEqual(
      toldTo(stage).map((text) => text.split("\n")[0]),
      [
        "The background subagent y will not report: Subagent cancelled before it started",
        "Report of the background subagent x:",
      ],
    );
  });

  test("B11: a message to a child that still waits for its slot is read with its task", async () => {
    const stage = openStage(
      {
        lead: [
          [start("x"), start("y")],
          ({ messages }) => calls("subagent_send", { subagent_id: idIn(messages, 1), message: "Quickly, please." }),
          calls("subagent_wait"),
          says("Done."),
        ],
        "lead/x": [[after(1000), says("X.")]],
        "lead/y": [says("Y.")],
      },
      { runtime: { limits: { maxConcurrent: 1 } } },
    );
    await stage.run(stage.lead());
    assert.equal(stage.eventsOf("run-start", "lead/y").length, 1);
    assert.deepEqual(
      stage.requestsOf("lead/y")[0]?.messages.map((message) => textOf(message)),
      ["Look at y.", "Quickly, please."],
    );
  });

  test("B11: subagent_cancel of another run's child is a failed result", async () => {
    const stage = openStage({ lead: [calls("subagent_cancel", { subagent_id: "nobody" }), says("Done.")] });
    await stage.run(stage.lead());
    assert.equal(
      stage.resultsOf("lead")[0]?.output,
      "No subagent with the id nobody. subagent_list shows those you started.",
    );
  });

  test("B11: subagent_list names every child with its state", async () => {
    const stage = openStage({
      lead: [
        calls("subagent_list"),
        [start("x"), calls("subagent", { label: "y", task_prompt: "Look at y." })],
        calls("subagent_list"),
        calls("subagent_wait"),
        says("Done."),
      ],
      "lead/x": [[after(1000), says("X.")]],
      "lead/y": [says("Y.")],
    });
    await stage.run(stage.lead());
    const [none, , , some] = stage.resultsOf("lead");
    assert.equal(none?.output, "You have not started any subagents.");
    assert.deepEqual(
      some?.output.split("\n").map((line) => line.replace(/^\w{26} {2}/, "")),
      ["x  running  1 turn  background", "y  completed  1 turn"],
    );
  });
});
