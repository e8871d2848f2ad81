/** Section A1: the agent loop as a user meets it. Its own promises are tested in `test/unit/runtime/loop/`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../src/core/agent.ts";
import type { SousEvent } from "../../../src/core/event.ts";
import { textOf } from "../../../src/core/message.ts";
import { after, calls, fails, says, streams, uses } from "../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../support/requirements/support.ts";

suite("A1: the agent loop", () => {
  test("A1: the loop asks the model, runs its tools and repeats until it stops asking", async () => {
    const stage = openStage({ lead: [calls("look"), [calls("look"), calls("read")], says("Two rooms.")] });
    const ran: string[] = [];
    const tools = ["look", "read"].map((name) => simpleTool(name, () => void ran.push(name)));
    const { status, text, turns } = await stage.run(stage.lead({ tools }));
    assert.deepEqual([status, text, turns, ran], ["completed", "Two rooms.", 3, ["look", "look", "read"]]);
  });

  test("A1: a run is continued with a follow-up, and the conversation continues", async () => {
    const stage = openStage({ lead: [calls("look"), says("Two rooms."), says("The left one.")] });
    const first = stage.start(stage.lead({ tools: [simpleTool("look", () => "left, right")] }), "How many rooms?");
    await stage.end(first);
    const second = first.followUp("Which is larger?");
    const result = await stage.end(second);
    assert.equal(result.text, "The left one.");
    assert.notEqual(second.id, first.id);
    const { messages = [] } = stage.requestsOf("lead")[2] ?? {};
    assert.deepEqual(
      messages.map((message) => [message.role, textOf(message)]),
      [
        ["user", "How many rooms?"],
        ["assistant", ""],
        ["tool", ""],
        ["assistant", "Two rooms."],
        ["user", "Which is larger?"],
      ],
    );
    const starts = stage.eventsOf("run-start");
    assert.deepEqual(
      starts.map(({ runId, agentId, path, origin }) => ({ runId, agentId, path, origin })),
      [
        { runId: first.id, agentId: first.id, path: "lead", origin: undefined },
        { runId: second.id, agentId: first.id, path: "lead", origin: { kind: "follow-up", runId: first.id } },
      ],
    );
  });

  test("A1: follow-ups asked for at once run one after the other, each on what the one before left", async () => {
    const stage = openStage({ lead: [says("One."), [after(100), says("Two.")], says("Three.")] });
    const first = stage.start(stage.lead());
    const second = first.followUp("And then?");
    const third = first.followUp("And then?");
    const results = await stage.world.run(() => Promise.all([first, second, third]));
    assert.deepEqual(
      results.map(({ text }) => text),
      ["One.", "Two.", "Three."],
    );
    assert.equal(stage.requestsOf("lead")[2]?.messages.length, 5);
  });

  test("A1: a run that failed can be continued too", async () => {
    const stage = openStage({ lead: [fails("auth"), says("Now it works.")] });
    const handle = stage.start(stage.lead());
    assert.equal((await stage.end(handle)).status, "failed");
    assert.equal((await stage.end(handle.followUp("Try again."))).text, "Now it works.");
  });

  test("A1: maxTurns is at least 1 and at most 1000", () => {
    for (const maxTurns of [0, -1, 1.5, 1001, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => agent({ name: "lead", maxTurns }), {
        name: "UserError",
        message: `agent lead: maxTurns must be a whole number between 1 and 1000; found ${maxTurns}`,
      });
    }
    assert.equal(agent({ name: "lead", maxTurns: 1 }).maxTurns, 1);
  });

  test("A1: usage accumulates over the run and rolls up to its ancestors", async () => {
    const spawn = (label: string) => calls("subagent", { label, task_prompt: `Look at ${label}.` });
    const stage = openStage({
      lead: [
        [spawn("x"), uses({ input: 100, output: 10, cached: 50 })],
        [says("Done."), uses({ input: 200, output: 20, cacheWrite: 30 })],
      ],
      "lead/x": [
        [spawn("y"), uses({ input: 1000, output: 100 })],
        [says("Done."), uses({ input: 2000, output: 200 })],
      ],
      "lead/x/y": [[says("Done."), uses({ input: 10_000, output: 1000 })]],
    });
    const { usage, agents } = await stage.run(stage.lead());
    assert.deepEqual(usage, {
      inputTokens: 13_300,
      outputTokens: 1330,
      cachedInputTokens: 50,
      cacheWriteTokens: 30,
      totalTokens: 14_630,
      estimated: false,
    });
    assert.deepEqual(
      agents.map(({ path, usage: own }) => [path, own.totalTokens]),
      [
        ["lead", 330],
        ["lead/x", 3300],
        ["lead/x/y", 11_000],
      ],
    );
    // The parent of y hears of y's tokens, and the root of both.
    const ends = stage.eventsOf("tool-call-end");
    assert.deepEqual(
      ends.map(({ path, metadata }) => [path, metadata?.tree_tokens]),
      [
        ["lead/x", 11_000],
        ["lead", 14_300],
      ],
    );
  });

  test("A1: the bill of a tree with prices is the sum of its calls", async () => {
    const stage = openStage(
      {
        lead: [
          [calls("subagent", { label: "x", task_prompt: "Look." }), uses({ input: 1_000_000, output: 0 })],
          [says("Done."), uses({ input: 0, output: 1_000_000 })],
        ],
        "lead/x": [[says("Seen."), uses({ input: 500_000, output: 500_000 })]],
      },
      { model: { price: { input: 1, output: 5 } } },
    );
    const { costUsd, agents } = await stage.run(stage.lead());
    assert.deepEqual([costUsd, agents.map((each) => each.costUsd)], [9, [6, 3]]);
  });

  test("A1: a handle can be iterated, and ends with the end of the root", async () => {
    const stage = openStage({ lead: [streams("One ", "two")] });
    const handle = stage.runtime.run(stage.lead(), "Count.");
    const seen: SousEvent[] = [];
    await stage.world.run(async () => {
      for await (const event of handle) seen.push(event);
    });
    assert.deepEqual(
      seen.map(({ type }) => type),
      ["run-start", "turn-start", "text-delta", "text-delta", "message-end", "run-end"],
    );
    assert.equal((await handle).text, "One two");
  });

  test("A1: a live run reads what it is told before its next turn", async () => {
    const stage = openStage({ lead: [calls("look"), says("Only the left one.")] });
    const look = simpleTool("look", () => {
      assert.equal(handle.steer("lead", "Only the left one!"), true);
      return "left, right";
    });
    const handle = stage.start(stage.lead({ tools: [look] }));
    await stage.end(handle);
    assert.deepEqual(
      stage.eventsOf("steer").map(({ text }) => text),
      ["Only the left one!"],
    );
    const { messages = [] } = stage.requestsOf("lead")[1] ?? {};
    assert.deepEqual(
      messages.map((message) => message.role),
      ["user", "assistant", "tool", "user"],
    );
    assert.equal(handle.steer("lead", "Too late."), false);
    assert.equal(handle.steer("lead/nobody", "Hello?"), false);
  });

  test("A1: a message that arrives during the last answer is answered too", async () => {
    const stage = openStage({ lead: [[says("Done."), after(100)], says("And the attic.")] });
    const handle = stage.start(stage.lead());
    stage.when(
      (event) => event.type === "text-delta",
      () => handle.steer("lead", "What about the attic?"),
    );
    assert.equal((await stage.end(handle)).text, "And the attic.");
  });
});
