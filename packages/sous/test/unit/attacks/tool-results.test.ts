/** Tools, hooks and people that give back what nobody expected: the model reads a result, and the run goes on. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { ApprovalAnswer, Hooks } from "../../../src/core/approval.ts";
import type { Tool, ToolResult } from "../../../src/core/tool.ts";
import { calls, says } from "../../../src/testing/steps.ts";
import { openStage, type Stage, simpleTool } from "../../support/requirements/support.ts";

type Seen = { output: string | undefined; isError: boolean | undefined; stage: Stage };

async function callOf(tool: Tool, hooks: Hooks = {}): Promise<Seen> {
  const stage = openStage({ lead: [calls(tool.name), says("Done.")] });
  const { status } = await stage.run(stage.lead({ tools: [tool], hooks }));
  assert.equal(status, "completed");
  // Every event can be written down and read again.
  for (const event of stage.events) assert.deepEqual(JSON.parse(JSON.stringify(event)), withoutUndefined(event));
  const [read] = stage.resultsOf("lead");
  return { output: read?.output, isError: read?.isError, stage };
}

async function resultOf(value: unknown): Promise<[output: string | undefined, isError: boolean | undefined]> {
  const { output, isError } = await callOf(simpleTool("give", () => value));
  return [output, isError];
}

function withoutUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined));
}

const circle: Record<string, unknown> = { name: "circle" };
circle.self = circle;

suite("the result of a tool", () => {
  test("a result of a tool is shown as JSON, with maps, sets and large numbers in it", async () => {
    assert.deepEqual(await resultOf({ found: new Map([["a", new Set([1, 2])]]), size: 2n ** 64n }), [
      '{"found":[["a",[1,2]]],"size":"18446744073709551616"}',
      false,
    ]);
    assert.deepEqual(await resultOf([{}, { at: new Date(0) }]), ['[{},{"at":"1970-01-01T00:00:00.000Z"}]', false]);
  });

  test("a result of a tool is read as text when it is bytes", async () => {
    assert.deepEqual(await resultOf(new TextEncoder().encode("a file, é")), ["a file, é", false]);
  });

  test("a result of a tool is a failure when it is an error that was not thrown", async () => {
    assert.deepEqual(await resultOf(new TypeError("no such file")), ["no such file", true]);
  });

  test("a result of a tool is a failure that says the call was made, when it cannot be shown", async () => {
    const begins = "The call was made, but what it returned cannot be shown";
    for (const value of [circle, () => 1, Symbol("secret"), { toJSON: () => undefined }]) {
      const [output, isError] = await resultOf(value);
      assert.deepEqual([output?.startsWith(begins), isError], [true, true], output);
    }
  });

  test("a result of a tool is a failure when it says so, with or without output, whatever its error is", async () => {
    assert.deepEqual(await resultOf({ success: false, error: "not found" }), ["not found", true]);
    assert.deepEqual(await resultOf({ success: false, output: "half of it", error: new Error("cut") }), [
      "cut\nhalf of it",
      true,
    ]);
    assert.deepEqual(await resultOf({ success: false, output: "", error: Object.create(null) }), [WORDLESS, true]);
  });

  test("a result of a tool keeps metadata and documents only as they can be kept", async () => {
    const metadata = { count: 3n, at: new Date(0), tags: new Set(["x"]) };
    const kept = await callOf(simpleTool("give", () => ({ success: true, output: "x", metadata })));
    const [end] = kept.stage.eventsOf("tool-call-end");
    assert.deepEqual(end?.metadata, { count: "3", at: "1970-01-01T00:00:00.000Z", tags: ["x"] });
    assert.deepEqual(await resultOf({ success: true, output: "x", metadata: null }), ["x", false]);
    const file = { type: "file", mediaType: "image/png", data: "aGk=" };
    for (const wrong of [
      { metadata: circle },
      { metadata: "words" },
      { documents: "words" },
      { documents: [null] },
      { documents: [{ ...file, filename: null }] },
      { documents: [{ ...file, provider: "words" }] },
      { documents: [{ ...file, provider: { me: circle } }] },
    ]) {
      const [output, isError] = await resultOf({ success: true, output: "x", ...wrong });
      assert.deepEqual([output?.startsWith("The call was made, but"), isError], [true, true], output);
    }
  });
});

const WORDLESS = "[object Object]";
const silent = new Proxy(new Error("x"), {
  get() {
    throw new Error("Nobody looks inside.");
  },
});

test("a value that a tool throws is never more than a failed result", async () => {
  const thrown: [unknown, string][] = [
    [null, "null"],
    ["words", "words"],
    [Object.create(null), WORDLESS],
    [silent, WORDLESS],
    [Object.assign(new Error("x"), { message: { not: "text" } }), "Error: [object Object]"],
    [new RangeError(""), "The tool failed without saying why"],
  ];
  for (const [value, said] of thrown) {
    const { output, isError } = await callOf(
      simpleTool("give", () => {
        throw value;
      }),
    );
    assert.deepEqual([output, isError], [said, true]);
  }
});

test("a tool that changes its input does not change what the model said", async () => {
  for (const inputSchema of [{}, { type: "object", properties: { deep: {} } }]) {
    const change = simpleTool(
      "change",
      (input) => {
        const { deep } = input as { deep: { path: string } };
        deep.path = "/etc";
        Object.assign(input as object, { more: true });
        return "changed";
      },
      { inputSchema },
    );
    const stage = openStage({ lead: [calls("change", { deep: { path: "src" } }), says("Done.")] });
    await stage.run(stage.lead({ tools: [change] }));
    const [start] = stage.eventsOf("tool-call-start");
    const [said] = stage.requestsOf("lead").at(-1)?.messages[1]?.content ?? [];
    assert.deepEqual(start?.input, { deep: { path: "src" } });
    assert.deepEqual(said?.type === "tool-call" && said.input, { deep: { path: "src" } });
  }
});

suite("a hook that decides nothing sensible", () => {
  const ran: string[] = [];
  const tool = simpleTool("act", () => {
    ran.push("ran");
    return "acted";
  });

  test("a hook before a call that decides nothing sensible lets nothing through", async () => {
    for (const decision of [true, "no", {}, { refuse: 5 }, { result: undefined }, { result: { success: true } }]) {
      const { output, isError } = await callOf(tool, { beforeToolCall: () => decision as never });
      assert.deepEqual([isError, ran], [true, []]);
      assert.match(output ?? "", /^The hook beforeToolCall must return/);
    }
  });

  test("a hook before a call lets the call run when it returns null", async () => {
    const { output } = await callOf(tool, { beforeToolCall: () => null as never });
    assert.deepEqual([output, ran.splice(0)], ["acted", ["ran"]]);
  });

  test("a hook after a call that decides nothing sensible makes the call a failure", async () => {
    for (const replaced of [true, "other words", {}, { success: true, output: 5 }] as unknown[]) {
      const { output, isError } = await callOf(tool, { afterToolCall: () => replaced as ToolResult });
      assert.equal(isError, true);
      assert.match(output ?? "", /^The hook afterToolCall must return/);
    }
  });
});

test("an answer to a question that is neither yes nor no means no, and closes the question", async () => {
  for (const answer of [undefined, null, true, "yes", {}, { allow: "yes" }] as unknown[]) {
    const write = simpleTool("write", undefined, { tier: "confirm" });
    const approve = () => answer as ApprovalAnswer;
    const stage = openStage({ lead: [calls("write"), says("Done.")] }, { runtime: { approve } });
    const { status, stopReason, denied } = await stage.run(stage.lead({ tools: [write] }));
    assert.deepEqual([status, stopReason, denied.length], ["incomplete", "consent", 1]);
    assert.equal(stage.eventsOf("approval-end")[0]?.by, "nobody");
  }
});
