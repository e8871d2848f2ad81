/** Pruning: the oldest turns go, the task and the last turns stay, and no call is parted from its result. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Message } from "../../../../src/core/message.ts";
import { calls, fails, says } from "../../../../src/testing/steps.ts";
import { openStage, type Stage, simpleTool } from "../../../support/requirements/support.ts";

/** Each call gives about 1,000 tokens. */
const read = simpleTool("read", () => "x".repeat(3000));
const limits = { maxTokens: 10_000, minRetainTurns: 2, pruneThreshold: 0.5 };

const texts = (messages: readonly Message[] = []) =>
  messages.flatMap((message) => message.content.flatMap((part) => ("text" in part ? [part.text] : [part.type])));

/** A history as a follow-up would get it: rebuilt from the journal. */
async function followUp(stage: Stage, handle: ReturnType<Stage["start"]>): Promise<readonly Message[]> {
  await stage.end(handle.followUp("And now?"));
  return stage.requestsOf("lead").at(-1)?.messages ?? [];
}

suite("a history over its threshold", () => {
  test("a history over its threshold loses its oldest turns and keeps the task and the last turns", async () => {
    const reading = Array.from({ length: 8 }, () => calls("read"));
    const stage = openStage({ lead: [...reading, says("Done.")] });
    const result = await stage.run(stage.lead({ tools: [read] }), "The task.", { conversation: limits });
    assert.equal(result.text, "Done.");
    for (const { messages } of stage.requestsOf("lead")) assert.equal(texts(messages)[0], "The task.");
    const prunes = stage.eventsOf("prune");
    assert.ok(prunes.length >= 1);
    for (const { tokensBefore, tokensAfter } of prunes) {
      assert.ok(tokensBefore > limits.maxTokens * limits.pruneThreshold);
      assert.ok(tokensAfter < tokensBefore);
    }
    const after = stage.requestsOf("lead").find(({ messages }, index, all) => {
      return messages.length < (all[index - 1]?.messages.length ?? 0);
    });
    assert.deepEqual(
      after?.messages.map(({ role }) => role),
      ["user", "assistant", "tool", "assistant", "tool"],
      "the task and two turns",
    );
  });

  test("A2: a history is measured by what the model can read, when that is less than what was configured", async () => {
    const script = { lead: [...Array.from({ length: 8 }, () => calls("read")), says("Done.")] };
    const conversation = { ...limits, maxTokens: 1_000_000 };
    const prunedWith = async (contextWindow: number) => {
      const stage = openStage(script, { model: { contextWindow } });
      await stage.run(stage.lead({ tools: [read] }), "The task.", { conversation });
      return stage.eventsOf("prune").length > 0;
    };
    assert.deepEqual([await prunedWith(10_000), await prunedWith(2_000_000)], [true, false]);
  });

  test("a history below its threshold is left alone", async () => {
    const stage = openStage({ lead: [calls("read"), calls("read"), says("Done.")] });
    await stage.run(stage.lead({ tools: [read] }), "The task.", { conversation: limits });
    assert.deepEqual(stage.eventsOf("prune"), []);
  });

  test("a history over its threshold is left alone when only the turns that must stay are left", async () => {
    const stage = openStage({ lead: [calls("read"), calls("read"), calls("read"), says("Done.")] });
    const conversation = { maxTokens: 100, minRetainTurns: 5, pruneThreshold: 0.5 };
    const result = await stage.run(stage.lead({ tools: [read] }), "The task.", { conversation });
    assert.deepEqual([result.status, stage.eventsOf("prune")], ["completed", []]);
  });

  test("a pruned history is the same when it is rebuilt for a follow-up", async () => {
    const reading = Array.from({ length: 8 }, () => calls("read"));
    const stage = openStage({ lead: [...reading, says("Done."), says("Nothing more.")] });
    const handle = stage.start(stage.lead({ tools: [read] }), "The task.", { conversation: limits });
    await stage.end(handle);
    const before = stage.requestsOf("lead").at(-1)?.messages ?? [];
    const rebuilt = await followUp(stage, handle);
    // What the last request held, the answer to it, and the new message; the new run may have pruned before it asked.
    const expected = [...before, { role: "assistant", content: [{ type: "text", text: "Done." }] }];
    const kept = rebuilt.slice(1, -1);
    assert.deepEqual(kept, expected.slice(-kept.length));
    assert.deepEqual([texts(rebuilt)[0], texts(rebuilt).at(-1)], ["The task.", "And now?"]);
  });
});

suite("the task of a later run", () => {
  const reading = Array.from({ length: 8 }, () => calls("read"));

  test("the task of a later run stays when a follow-up grows long", async () => {
    const stage = openStage({ lead: [calls("read"), says("First."), ...reading, says("Second."), says("Third.")] });
    const handle = stage.start(stage.lead({ tools: [read] }), "The first task.", { conversation: limits });
    await stage.end(handle);
    const second = handle.followUp("The second task.");
    await stage.end(second);
    assert.ok(stage.eventsOf("prune").length > 0);
    const { messages } = stage.requestsOf("lead").at(-1) ?? {};
    assert.deepEqual(texts(messages).slice(0, 2), ["The first task.", "The second task."]);
    await stage.end(second.followUp("The third task."));
    const rebuilt = texts(stage.requestsOf("lead").at(-1)?.messages);
    assert.ok(rebuilt.includes("The second task.") || rebuilt.includes("Second."));
    assert.deepEqual([rebuilt[0], rebuilt.at(-1)], ["The first task.", "The third task."]);
  });

  test("the task of a later run stays when a fork grows long", async () => {
    const stage = openStage({
      lead: [
        calls("read"),
        calls("subagent", { label: "x", task_prompt: "The part.", context: "fork" }),
        says("Done."),
      ],
      "lead/x": [...reading, says("The part is done.")],
    });
    await stage.run(stage.lead({ tools: [read] }), "The whole.", { conversation: limits });
    assert.ok(stage.eventsOf("prune", "lead/x").length > 0);
    const { messages } = stage.requestsOf("lead/x").at(-1) ?? {};
    assert.deepEqual(texts(messages).slice(0, 2), ["The whole.", "The part."]);
  });

  test("the task of a later run stays when the model says that the prompt is too long", async () => {
    const stage = openStage({
      lead: [
        calls("read"),
        calls("subagent", { label: "x", task_prompt: "The part.", context: "fork" }),
        says("Done."),
      ],
      "lead/x": [calls("read"), calls("read"), fails("context_length"), says("The part is done.")],
    });
    await stage.run(stage.lead({ tools: [read] }), "The whole.");
    const { messages } = stage.requestsOf("lead/x").at(-1) ?? {};
    assert.deepEqual(texts(messages), ["The whole.", "The part.", "tool-call", "tool-result"]);
  });
});
