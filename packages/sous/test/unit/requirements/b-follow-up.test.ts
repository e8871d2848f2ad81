/** Section B10: a finished child is continued by id. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { textOf } from "../../../src/core/message.ts";
import type { ModelRequest } from "../../../src/core/model.ts";
import { after, calls, hangs, says, uses } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";

const spawn = (more: object = {}) => calls("subagent", { label: "x", task_prompt: "Look left.", ...more });
/** Sends a message to the child whose report the parent read last. */
const send =
  (message: string) =>
  ({ messages }: ModelRequest) =>
    calls("subagent_send", { subagent_id: idIn(messages), message });

function idIn(messages: unknown): string {
  return /subagent_id: (\w{26})/.exec(JSON.stringify(messages))?.[1] ?? "";
}

suite("B10: a follow-up", () => {
  test("B10: a follow-up continues the child's conversation, under its path, id and depth", async () => {
    const stage = openStage({
      lead: [spawn(), send("And right?"), says("Done.")],
      "lead/x": [calls("look"), says("Left: a wall."), says("Right: a door.")],
    });
    await stage.run(stage.lead({ tools: [simpleTool("look")] }));
    const [, first, second] = stage.eventsOf("run-start");
    assert.notEqual(second?.runId, first?.runId);
    assert.deepEqual(
      [second?.agentId, second?.path, second?.depth, second?.parentId, second?.origin],
      [first?.agentId, "lead/x", 1, first?.parentId, { kind: "follow-up", runId: first?.runId }],
    );
    assert.deepEqual(
      stage.requestsOf("lead/x")[2]?.messages.map(({ role }) => role),
      ["user", "assistant", "tool", "assistant", "user"],
    );
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output }) => output.split("\n")[0]),
      ["Left: a wall.", "Right: a door."],
    );
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output }) => idIn(output)),
      [first?.agentId, first?.agentId],
    );
  });

  test("B10: a follow-up keeps what the call allowed", async () => {
    const stage = openStage({
      lead: [spawn({ allowed_tools: ["read"] }), send("Now grep."), says("Done.")],
      "lead/x": [
        says("Ready."),
        [calls("grep"), calls("subagent", { label: "y", task_prompt: "Y." })],
        says("I may not."),
      ],
    });
    await stage.run(stage.lead({ tools: [simpleTool("grep"), simpleTool("read")] }));
    assert.deepEqual(stage.requestsOf("lead/x")[1]?.tools, ["read"]);
    assert.ok(stage.resultsOf("lead/x").every(({ isError }) => isError));
    assert.deepEqual(
      stage.eventsOf("run-start", "lead/x").map(({ rights }) => rights),
      [
        { use: ["read"], delegate: ["read"], deny: [], spawn: false },
        { use: ["read"], delegate: ["read"], deny: [], spawn: false },
      ],
    );
  });

  test("B10: a follow-up has what is left of the child's budget", async () => {
    const stage = openStage({
      lead: [
        calls("subagent", { label: "x", task_prompt: "Look left.", agent: "poor" }),
        send("And right?"),
        says("Done."),
      ],
      "lead/x": [[says("Left: a wall."), uses({ input: 7000, output: 500 })], says("Never.")],
    });
    const poor = stage.lead({ name: "poor", budget: { tokens: 8000 } });
    await stage.run(stage.lead({ subagents: [poor] }));
    const [, second] = stage.resultsOf("lead");
    assert.equal(second?.isError, true);
    assert.match(second?.output ?? "", /^Token limit exceeded: \d+\/8000/);
  });

  test("B10: a follow-up is one more execution", async () => {
    const stage = openStage(
      { lead: [spawn(), send("And right?"), says("Done.")], "lead/x": [says("Left."), says("Never.")] },
      { runtime: { limits: { children: { executions: 1 } } } },
    );
    await stage.run(stage.lead());
    assert.equal(stage.resultsOf("lead")[1]?.output, "Execution limit reached: 1/1");
    assert.deepEqual(
      stage.eventsOf("run-start").map(({ path }) => path),
      ["lead", "lead/x"],
    );
  });

  test("B10: a follow-up that is refused leaves the child as it was: ended, with its report, and not at work", async () => {
    const stage = openStage(
      {
        lead: [
          spawn(),
          send("And right?"),
          calls("subagent_list"),
          send("And behind?"),
          ({ messages }) => calls("subagent_report", { subagent_id: idIn(messages) }),
          says("Done."),
        ],
        "lead/x": [says("Left."), says("Never.")],
      },
      { runtime: { limits: { children: { executions: 1 } } } },
    );
    await stage.run(stage.lead());
    const refused = "Execution limit reached: 1/1";
    const id = stage.eventsOf("run-start", "lead/x")[0]?.agentId;
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output }) => output.split("\n")[0]),
      ["Left.", refused, `${id}  x  completed  1 turn`, refused, "Left."],
    );
  });

  test("B10: a follow-up works for a child that was cut short, and the work it did is not lost", async () => {
    const stage = openStage({
      lead: [spawn({ timeout_ms: 100 }), send("Take your time."), says("Done.")],
      "lead/x": [calls("look"), hangs(), says("A wall.")],
    });
    await stage.run(stage.lead({ tools: [simpleTool("look", () => "bricks")] }));
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output }) => output.split("\n")[0]),
      ["Subagent timed out after 100 ms (x)", "A wall."],
    );
    assert.match(JSON.stringify(stage.requestsOf("lead/x").at(-1)?.messages), /bricks/);
  });

  test("B10: a follow-up works after the parent itself was continued", async () => {
    const stage = openStage({
      lead: [spawn(), says("Asked."), send("And right?"), says("Done.")],
      "lead/x": [says("Left: a wall."), says("Right: a door.")],
    });
    const handle = stage.start(stage.lead());
    await stage.end(handle);
    await stage.end(handle.followUp("Ask it about the right side."));
    assert.match(stage.resultsOf("lead")[1]?.output ?? "", /^Right: a door\./);
  });

  test("B10: a follow-up of a fork continues with what the fork began with", async () => {
    const stage = openStage({
      lead: [
        calls("look"),
        says("A wall."),
        [says("I fork."), calls("look"), spawn({ context: "fork" })],
        send("And right?"),
        says("Done."),
      ],
      "lead/x": [calls("look"), says("Left: a wall."), says("Right: a door.")],
    });
    const handle = stage.start(stage.lead({ tools: [simpleTool("look", () => "bricks")] }));
    await stage.end(handle);
    await stage.end(handle.followUp("Look at both sides."));
    const [, beforeAnswer, continued] = stage.requestsOf("lead/x");
    assert.equal(beforeAnswer?.messages.length, 8, "five of the parent, its own task, one turn");
    assert.deepEqual(continued?.messages.slice(0, 8), beforeAnswer.messages);
    assert.deepEqual(
      continued.messages.slice(8).map((message) => textOf(message)),
      ["Left: a wall.", "And right?"],
    );
  });

  test("B10: two messages at once go to one run, not to two beside each other", async () => {
    const stage = openStage({
      lead: [
        spawn(),
        ({ messages }) => {
          const subagent_id = idIn(messages);
          return [
            calls("subagent_send", { subagent_id, message: "And right?" }),
            calls("subagent_send", { subagent_id, message: "And behind?" }),
          ];
        },
        says("Done."),
      ],
      "lead/x": [says("Left: a wall."), [after(100), says("Right a door, behind nothing.")]],
    });
    await stage.run(stage.lead());
    assert.equal(stage.eventsOf("run-start", "lead/x").length, 2);
    const [, right, behind] = stage.resultsOf("lead");
    assert.match(right?.output ?? "", /^Right a door, behind nothing\./);
    assert.match(behind?.output ?? "", /^x is at work and reads this before its next turn/);
    assert.match(JSON.stringify(stage.requestsOf("lead/x").at(-1)?.messages), /And right\?.*And behind\?/);
  });

  test("B10: a follow-up is refused for ids that are not the caller's own children", async () => {
    const stage = openStage({
      lead: [spawn(), send("And you?"), says("Done.")],
      "lead/x": [
        calls("subagent", { label: "y", task_prompt: "Look up." }),
        says("Left."),
        ({ caller }) => calls("subagent_send", { subagent_id: caller.agentId, message: "Me?" }),
        says("Not me."),
      ],
      "lead/x/y": [says("The sky.")],
    });
    await stage.run(stage.lead());
    assert.match(
      stage.resultsOf("lead/x").at(-1)?.output ?? "",
      /^No subagent with the id \w{26}\. subagent_list shows/,
    );
  });

  test("B10: a follow-up of nothing is a failed result that names the field", async () => {
    const stage = openStage({ lead: [spawn(), send(" "), says("Done.")], "lead/x": [says("Left.")] });
    await stage.run(stage.lead());
    assert.equal(stage.resultsOf("lead")[1]?.output, "message cannot be empty");
  });

  test("B10: a follow-up can come from the person who holds the handle", async () => {
    const stage = openStage({
      lead: [spawn(), [after(1000), says("Done.")]],
      "lead/x": [says("Left: a wall."), says("Right: a door.")],
    });
    const handle = stage.start(stage.lead());
    let answer: Promise<string> | undefined;
    stage.when(
      (event) => event.type === "run-end" && event.path === "lead/x",
      () => stage.world.clock.ownTimer(100, () => (answer = handle.send("lead/x", "And right?"))),
    );
    await stage.end(handle);
    assert.equal(await answer, "Right: a door.");
    await assert.rejects(handle.send("lead/x", "Still there?"), {
      name: "UserError",
      message: /^The parent of lead\/x has ended/,
    });
    await assert.rejects(handle.send("lead/nobody", "Hello?"), {
      name: "UserError",
      message: "No agent at lead/nobody",
    });
  });
});
