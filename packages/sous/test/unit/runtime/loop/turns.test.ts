/** The loop: turns until the model stops asking, and every way in which an answer can be no answer. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { agent } from "../../../../src/core/agent.ts";
import { toolCallsOf } from "../../../../src/core/message.ts";
import {
  after,
  calls,
  cuts,
  fails,
  refuses,
  reportsNoUsage,
  says,
  stopsAtLength,
  streams,
  thinks,
} from "../../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../../support/requirements/support.ts";

suite("turns", () => {
  test("turns end when the model answers without a call", async () => {
    const stage = openStage({ lead: [[says("I look."), calls("look")], says("Found it.")] });
    const result = await stage.run(stage.lead({ tools: [simpleTool("look", () => "a file")] }));
    assert.deepEqual(
      { status: result.status, text: result.text, turns: result.turns },
      { status: "completed", text: "Found it.", turns: 2 },
    );
    assert.deepEqual(stage.requestsOf("lead")[1]?.messages, [
      { role: "user", content: [{ type: "text", text: "Look around." }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I look." },
          { type: "tool-call", callId: "call_lead_1", toolName: "look", input: {} },
        ],
      },
      {
        role: "tool",
        content: [{ type: "tool-result", callId: "call_lead_1", toolName: "look", output: "a file", isError: false }],
      },
    ]);
  });

  test("turns run the calls of one answer side by side and answer them in the order they were made", async () => {
    const stage = openStage({ lead: [[calls("slow"), calls("quick"), calls("middle")], says("Done.")] });
    const ended: string[] = [];
    const waits = (name: string, milliseconds: number) =>
      simpleTool(name, async () => {
        await new Promise<void>((resolve) => stage.world.clock.timer(milliseconds, resolve));
        ended.push(name);
        return name;
      });
    const tools = [waits("slow", 300), waits("quick", 100), waits("middle", 200)];
    const result = await stage.run(stage.lead({ tools }));
    assert.deepEqual(ended, ["quick", "middle", "slow"]);
    assert.equal(result.durationMs, 300, "they ran at the same time");
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output }) => output),
      ["slow", "quick", "middle"],
    );
  });

  test("turns are counted, and out of turns is an ending with what there is", async () => {
    const stage = openStage({ "**": () => [says("Still looking."), calls("look")] });
    const result = await stage.run(stage.lead({ tools: [simpleTool("look")], maxTurns: 3 }));
    assert.deepEqual(
      { status: result.status, stopReason: result.stopReason, text: result.text, turns: result.turns },
      { status: "incomplete", stopReason: "turns", text: "Still looking.", turns: 3 },
    );
    assert.equal(stage.model.requestCount, 3);
    assert.equal(stage.eventsOf("tool-call-end").length, 3, "the calls of the last turn are answered");
  });

  test("turns that fail for good end the run as failed and keep what was said before", async () => {
    const stage = openStage({ lead: [[says("I look."), calls("look")], fails("invalid_request", { message: "No." })] });
    const result = await stage.run(stage.lead({ tools: [simpleTool("look")] }));
    assert.deepEqual(
      { status: result.status, text: result.text, error: result.error },
      { status: "failed", text: "I look.", error: { type: "model", message: "No.", kind: "invalid_request" } },
    );
  });

  test("turns that were cut in the middle are asked again, and nothing of the cut answer is run or kept", async () => {
    let looked = 0;
    const stage = openStage({ lead: [[streams("Half an "), calls("look"), cuts()], says("A whole answer.")] });
    const result = await stage.run(stage.lead({ tools: [simpleTool("look", () => ++looked)] }));
    assert.equal(result.text, "A whole answer.");
    assert.equal(looked, 0);
    assert.deepEqual(
      stage.eventsOf("retry").map(({ attempt, kind }) => ({ attempt, kind })),
      [{ attempt: 1, kind: "interrupted" }],
    );
    assert.equal(stage.requestsOf("lead")[1]?.messages.length, 1);
  });

  test("turns whose usage was not reported are estimated and marked", async () => {
    const stage = openStage({ lead: [[says("x".repeat(300)), reportsNoUsage()]] });
    const { usage } = await stage.run(agent({ name: "lead", model: stage.model }));
    // 12 characters of the task and 12 for its message; 300 of the answer.
    assert.deepEqual(usage, {
      inputTokens: 9,
      outputTokens: 100,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      totalTokens: 109,
      estimated: true,
    });
  });
});

suite("a refusal", () => {
  test("a refusal ends the run as refused, with what was said", async () => {
    const stage = openStage({ lead: [[says("I would rather not."), refuses()]] });
    const result = await stage.run(stage.lead());
    assert.deepEqual([result.status, result.text], ["refused", "I would rather not."]);
  });

  test("a refusal runs no call that came with it", async () => {
    let looked = 0;
    const stage = openStage({ lead: [[says("No."), calls("look"), refuses()]] });
    const result = await stage.run(stage.lead({ tools: [simpleTool("look", () => ++looked)] }));
    assert.deepEqual([result.status, looked, stage.eventsOf("tool-call-start")], ["refused", 0, []]);
  });
});

suite("an answer that is too long", () => {
  test("an answer that is too long continues in the next turn and is put together", async () => {
    const stage = openStage({
      lead: [[says("one, "), stopsAtLength()], [says("two, "), stopsAtLength()], says("three")],
    });
    const result = await stage.run(stage.lead());
    assert.deepEqual([result.status, result.text, result.turns], ["completed", "one, two, three", 3]);
    assert.deepEqual(
      stage.eventsOf("notice").map(({ reason }) => reason),
      ["cut-answer", "cut-answer"],
    );
  });

  test("an answer that is too long runs none of its calls, because their input may be cut", async () => {
    const inputs: unknown[] = [];
    const stage = openStage({
      lead: [
        [says("I write. "), calls("write", { text: "hal" }), stopsAtLength()],
        calls("write", { text: "half" }),
        says("Done."),
      ],
    });
    const write = simpleTool("write", (input) => void inputs.push(input));
    const result = await stage.run(stage.lead({ tools: [write] }));
    assert.deepEqual(inputs, [{ text: "half" }]);
    assert.equal(result.text, "Done.", "what was cut belonged to an earlier turn");
    assert.deepEqual(toolCallsOf(stage.eventsOf("message-end")[0]?.message ?? { role: "assistant", content: [] }), []);
  });

  test("an answer that is too long and has nothing but a call leaves no empty message behind", async () => {
    const stage = openStage({ lead: [[calls("write", {}), stopsAtLength()], says("Done.")] });
    const result = await stage.run(stage.lead({ tools: [simpleTool("write")] }));
    assert.equal(result.text, "Done.");
  });

  test("an answer that is too long on the last turn is told once", async () => {
    const stage = openStage({ lead: [[says("the beginning"), stopsAtLength()]] });
    const result = await stage.run(stage.lead({ maxTurns: 1 }));
    assert.deepEqual([result.status, result.stopReason, result.text], ["incomplete", "turns", "the beginning"]);
  });
});

suite("an empty answer", () => {
  test("an empty answer is asked for again, once", async () => {
    const stage = openStage({ lead: [says(""), says("Here it is.")] });
    const result = await stage.run(stage.lead());
    assert.deepEqual([result.status, result.text, result.turns], ["completed", "Here it is.", 2]);
    assert.deepEqual(
      stage.eventsOf("notice").map(({ reason }) => reason),
      ["empty-answer"],
    );
  });

  test("an answer of white space or of thoughts alone is empty too", async () => {
    const stage = openStage({ lead: [[thinks("Hm."), says(" \n")], thinks("What now?")] });
    const result = await stage.run(stage.lead());
    assert.deepEqual(
      [result.status, result.error],
      ["failed", { type: "model", message: "The model gave an empty answer twice" }],
    );
  });

  test("an empty answer is forgiven again after a turn with work in it", async () => {
    const stage = openStage({ lead: [says(""), calls("look"), says(""), says("Done.")] });
    const result = await stage.run(stage.lead({ tools: [simpleTool("look")] }));
    assert.deepEqual([result.status, result.text], ["completed", "Done."]);
  });

  test("an answer without any part at all can be answered with a valid request", async () => {
    const stage = openStage({ lead: [[], says("Here.")] });
    assert.equal((await stage.run(stage.lead())).text, "Here.");
  });
});

suite("a prompt that is too long for the model", () => {
  const look = simpleTool("look", () => "x".repeat(50));

  test("a prompt that is too long for the model is pruned once and asked again", async () => {
    const stage = openStage({
      lead: [calls("look"), calls("look"), calls("look"), fails("context_length"), says("Short enough.")],
    });
    const result = await stage.run(stage.lead({ tools: [look] }), "The task.");
    assert.deepEqual([result.status, result.text], ["completed", "Short enough."]);
    const { messages = [] } = stage.requestsOf("lead").at(-1) ?? {};
    assert.deepEqual(
      messages.map(({ role }) => role),
      ["user", "assistant", "tool"],
    );
    assert.deepEqual(messages[0], { role: "user", content: [{ type: "text", text: "The task." }] });
    assert.equal(stage.eventsOf("prune").length, 1);
  });

  test("a prompt that is too long for the model fails clearly when pruning did not help", async () => {
    const tooLong = fails("context_length", { message: "200,001 tokens are too many" });
    const stage = openStage({ lead: [calls("look"), calls("look"), tooLong, tooLong] });
    const result = await stage.run(stage.lead({ tools: [look] }));
    assert.deepEqual(
      [result.status, result.error],
      [
        "failed",
        {
          type: "model",
          message: "The conversation is too long for the model and cannot be shortened: 200,001 tokens are too many",
          kind: "context_length",
        },
      ],
    );
    assert.equal(stage.model.requestCount, 4);
  });

  test("a prompt that is too long for the model fails clearly when there is nothing to prune", async () => {
    const stage = openStage({ lead: [fails("context_length", { message: "too many" })] });
    const result = await stage.run(stage.lead());
    assert.deepEqual(
      [result.status, result.error?.message, stage.model.requestCount],
      ["failed", "The conversation is too long for the model and cannot be shortened: too many", 1],
    );
  });
});

test("a run that thinks for a long time is said to be silent, and continues", async () => {
  const stage = openStage({ lead: [[after(150_000), says("Done.")]] });
  const result = await stage.run(stage.lead());
  assert.equal(result.text, "Done.");
  assert.deepEqual(
    stage.eventsOf("stalled").map(({ seconds, waitingFor }) => ({ seconds, waitingFor })),
    [{ seconds: 60, waitingFor: "the model" }],
  );
});
