/** Models that answer with what no model should: whatever they say, the run ends in one way and the books stay true. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { type AgentDefinition, agent } from "../../../src/core/agent.ts";
import { ModelError } from "../../../src/core/errors.ts";
import type { ToolCallPart } from "../../../src/core/message.ts";
import type { Model, ModelAnswer, OnDelta } from "../../../src/core/model.ts";
import type { RunOptions, RunResult } from "../../../src/core/runtime.ts";
import type { Usage } from "../../../src/core/usage.ts";
import { openStage, type Stage, simpleTool } from "../../support/requirements/support.ts";

type Answer = unknown | ((onDelta: OnDelta) => unknown);

/** A model of somebody else's: gives these answers in turn, then the last one again. */
function foreign(...answers: Answer[]): Model {
  let next = 0;
  return {
    id: "native/odd",
    price: { input: 1, output: 1 },
    async answer(_request, onDelta) {
      const answer = answers[Math.min(next++, answers.length - 1)];
      return (typeof answer === "function" ? answer(onDelta) : answer) as ModelAnswer;
    },
  };
}

const usage: Usage = {
  inputTokens: 10,
  outputTokens: 5,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  totalTokens: 15,
  estimated: false,
};
const said = (text: unknown) => ({
  message: { role: "assistant", content: [{ type: "text", text }] },
  finish: "stop",
  usage,
});
const called = (call: Partial<Record<keyof ToolCallPart, unknown>>) => ({
  message: { role: "assistant", content: [{ type: "tool-call", callId: "c1", toolName: "look", input: {}, ...call }] },
  finish: "tool-calls",
  usage,
});

const NAMELESS = { type: "file", mediaType: "image/png", data: "aGk=", filename: 7 };

function odd(model: Model): AgentDefinition {
  return agent({ name: "lead", model, tools: [simpleTool("look", () => "seen", { inputSchema: {} })] });
}

async function runOdd(model: Model, options?: RunOptions): Promise<{ result: RunResult; stage: Stage }> {
  const stage = openStage({});
  const result = await stage.run(odd(model), "Look around.", options);
  for (const event of stage.events) JSON.stringify(event);
  return { result, stage };
}

suite("an answer that is none", () => {
  const malformed: [string, unknown, RegExp][] = [
    ["nothing", undefined, /it is undefined/],
    ["no message", { finish: "stop", usage }, /message/],
    ["no content", { ...said(""), message: { role: "assistant" } }, /content/],
    ["content that is a text", { ...said(""), message: { role: "assistant", content: "hello" } }, /content/],
    ["another role", { ...said(""), message: { role: "user", content: [{ type: "text", text: "x" }] } }, /role/],
    ["a part that is null", { ...said(""), message: { role: "assistant", content: [null] } }, /content\[0\]/],
    [
      "a part of an unknown type",
      { ...said(""), message: { role: "assistant", content: [{ type: "video" }] } },
      /video/,
    ],
    ["a text that is none", said(5), /content\[0\]\.text/],
    ["a call without an id", called({ callId: undefined }), /content\[0\]\.callId/],
    ["a call without a name", called({ toolName: 7 }), /content\[0\]\.toolName/],
    [
      "a name of a file that is none",
      { ...said(""), message: { role: "assistant", content: [NAMELESS] } },
      /\.filename/,
    ],
    ["data of a provider that is none", called({ provider: ["x"] }), /content\[0\]\.provider/],
    ["data of a provider that cannot be kept", called({ provider: { x: { size: 1n } } }), /content\[0\]\.provider/],
    ["an unknown finish", { ...said("x"), finish: "banana" }, /finish/],
  ];
  for (const [name, answer, reason] of malformed) {
    test(`an answer that is none fails the run as the model's fault, and is billed as an estimate: ${name}`, async () => {
      const { result } = await runOdd(foreign(answer), { budget: { tokens: 50_000 } });
      assert.deepEqual([result.status, result.error?.type], ["failed", "model"]);
      assert.match(result.error?.message ?? "", /^native\/odd gave a malformed answer: /);
      assert.match(result.error?.message ?? "", reason);
      assert.deepEqual([result.usage.estimated, result.usage.totalTokens > 0], [true, true]);
    });
  }

  test("an answer that is none is told from a throw, whatever is thrown", async () => {
    for (const thrown of ["words", null, undefined, Object.create(null)]) {
      const model = foreign(() => {
        throw thrown;
      });
      const { result } = await runOdd(model);
      assert.deepEqual([result.status, result.error?.type], ["failed", "model"]);
      assert.match(result.error?.message ?? "", /^The model failed: /);
    }
  });
});

suite("the input of a call", () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  let deep: unknown = "the end";
  for (let level = 0; level < 20_000; level++) deep = [deep];

  for (const [name, input] of Object.entries({
    "a large number": { size: 2n ** 64n },
    "a circle": circle,
    "a function": { run: () => 1 },
    "a map": new Map(),
    "a number without a value": { size: Number.NaN },
    "20,000 levels": deep,
  })) {
    test(`the input of a call that holds ${name} is refused and not kept`, async () => {
      const { result, stage } = await runOdd(foreign(called({ input }), said("Done.")));
      const [end] = stage.eventsOf("tool-call-end");
      assert.deepEqual([result.status, end?.isError], ["completed", true]);
      assert.match(end?.output ?? "", /not valid JSON/);
      assert.equal(typeof stage.eventsOf("tool-call-start")[0]?.input, "string");
    });
  }

  test("the input of a call that is missing is an empty one", async () => {
    const { stage } = await runOdd(foreign(called({ input: undefined }), said("Done.")));
    assert.deepEqual(stage.eventsOf("tool-call-start")[0]?.input, {});
    assert.equal(stage.eventsOf("tool-call-end")[0]?.output, "seen");
  });

  test("the id and the name of a call are well-formed", async () => {
    const { stage } = await runOdd(foreign(called({ callId: "c\ud800", toolName: "look\ud800" }), said("Done.")));
    const [start] = stage.eventsOf("tool-call-start");
    assert.deepEqual([start?.callId, start?.toolName], ["c\ufffd", "look\ufffd"]);
  });
});

suite("usage that cannot be", () => {
  const reports: Record<string, unknown> = {
    "no number": { ...usage, inputTokens: Number.NaN, totalTokens: Number.NaN },
    "less than nothing": { ...usage, inputTokens: -1000, outputTokens: -1000, totalTokens: -2000 },
    "without end": { ...usage, outputTokens: Number.POSITIVE_INFINITY },
    texts: { inputTokens: "5", outputTokens: "6", totalTokens: "11" },
    "nothing at all": {},
    null: null,
  };
  for (const [name, report] of Object.entries(reports)) {
    test(`usage that cannot be is estimated, and the budget holds: ${name}`, async () => {
      const budget = { tokens: 20_000, costUsd: 1 };
      const { result } = await runOdd(foreign({ ...called({}), usage: report }), { budget });
      assert.deepEqual([result.status, result.usage.estimated], ["budget_exceeded", true]);
      assert.ok(
        result.usage.totalTokens > 0 && result.usage.totalTokens <= budget.tokens,
        `${result.usage.totalTokens}`,
      );
      assert.ok((result.costUsd ?? 0) > 0);
    });
  }

  test("usage has no more cached than it has input, and a sum that is at least its parts", async () => {
    const report = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 99, cacheWriteTokens: -3, totalTokens: 1 };
    const { result } = await runOdd(foreign({ ...said("Done."), usage: report }));
    assert.deepEqual(result.usage, { ...usage, cachedInputTokens: 10 });
  });
});

test("a delay that cannot be is replaced by our own", async () => {
  for (const retryAfterMs of [Number.NaN, -5, Number.POSITIVE_INFINITY]) {
    const model = foreign(() => {
      throw new ModelError("rate_limit", "slowly", { retryAfterMs });
    }, said("Done."));
    const { result, stage } = await runOdd(model);
    const [retry] = stage.eventsOf("retry");
    assert.equal(result.text, "Done.");
    assert.ok(retry !== undefined && retry.delayMs >= 250 && retry.delayMs <= 500, `${retry?.delayMs}`);
  }
});

test("words that a model says after its answer are not recorded", async () => {
  let late: OnDelta = () => {};
  const model = foreign((onDelta: OnDelta) => {
    late = onDelta;
    onDelta("text", "Looking.");
    return called({});
  }, said("Done."));
  const definition = odd(model).with({ tools: [simpleTool("look", () => late("text", "Too late."))] });
  const stage = openStage({});
  const result = await stage.run(definition);
  late("text", "Much too late.");
  assert.equal(result.text, "Done.");
  assert.deepEqual(
    stage.events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])),
    ["Looking."],
  );
});
