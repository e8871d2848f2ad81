/** Tools that misbehave, and models that misuse them: a failed result the model can read, and a run that goes on. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as z from "zod";
import { ToolFailure } from "../../../../src/core/errors.ts";
import { type ToolContext, tool } from "../../../../src/core/tool.ts";
import { calls, hangs, type Step, says } from "../../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../../support/requirements/support.ts";

/** Runs one tool once and gives what the model read about it. */
async function resultOf(execute: (input: unknown, context: ToolContext) => unknown, step: Step = calls("act")) {
  const stage = openStage({ lead: [step, says("Done.")] });
  const result = await stage.run(stage.lead({ tools: [simpleTool("act", execute)] }));
  assert.equal(result.status, "completed");
  const [read] = stage.resultsOf("lead");
  assert.ok(read);
  return { output: read.output, isError: read.isError, stage };
}

suite("the value that a tool returns", () => {
  const shown: [string, unknown, { output: string; isError: boolean }][] = [
    ["a text is read as it is", "three lines", { output: "three lines", isError: false }],
    ["nothing is read as done", undefined, { output: "done", isError: false }],
    ["null is read as done", null, { output: "done", isError: false }],
    ["an empty text stays empty", "", { output: "", isError: false }],
    ["a value is read as JSON", { files: ["a"], count: 1 }, { output: '{"files":["a"],"count":1}', isError: false }],
    ["a number is read as JSON", 7, { output: "7", isError: false }],
    ["a result is itself", { success: true, output: "fine", data: { hidden: 1 } }, { output: "fine", isError: false }],
    [
      "a failed result gives its reason and what there is",
      { success: false, output: "half of it", error: "The disk is full" },
      { output: "The disk is full\nhalf of it", isError: true },
    ],
    [
      "a failure without a reason says so",
      { success: false, output: "" },
      { output: "The tool failed without saying why", isError: true },
    ],
    ["a lone surrogate becomes a replacement character", "a\ud800b", { output: "a\ufffdb", isError: false }],
    [
      "binary text is shown as well-formed text",
      "\u0000\u0001\udc00",
      { output: "\\u{0}\\u{1}\ufffd", isError: false },
    ],
  ];
  for (const [name, value, expected] of shown) {
    test(name, async () => {
      const { output, isError } = await resultOf(() => value);
      assert.deepEqual({ output, isError }, expected);
    });
  }

  test("a value that is no JSON is a failed result", async () => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    assert.deepEqual(
      [(await resultOf(() => circular)).isError, (await resultOf(() => Math.max)).isError],
      [true, true],
    );
  });

  test("a result that looks like a promise and throws is a failed result, and leaves no timer when the run is stopped", async () => {
    // biome-ignore lint/suspicious/noThenProperty: what looks like a promise is what is shown.
    const broken = { then: () => assert.fail("it throws") };
    const stage = openStage({ lead: [calls("act"), hangs()] });
    const handle = stage.start(stage.lead({ tools: [simpleTool("act", () => broken)] }));
    stage.world.clock.ownTimer(500, () => handle.cancel());
    await stage.end(handle);
    assert.deepEqual([stage.eventsOf("tool-call-end")[0]?.output, stage.world.clock.monotonic()], ["it throws", 500]);
  });

  test("a result that can be looked at once ends its own call only", async () => {
    let looks = 0;
    const shy = {
      // biome-ignore lint/suspicious/noThenProperty: whether it is a promise is what is looked at.
      get then() {
        looks += 1;
        return looks === 1 ? undefined : assert.fail("look away");
      },
    };
    assert.equal((await resultOf(() => shy)).isError, true);
  });

  test("a function that is a promise as well is waited for, however the call came about", async () => {
    const act = simpleTool("act", () =>
      // biome-ignore lint/suspicious/noThenProperty: what looks like a promise is what is shown.
      Object.assign(() => {}, { then: (resolve: (text: string) => void) => resolve("late") }),
    );
    for (const hooks of [undefined, { beforeToolCall: async () => undefined }]) {
      const stage = openStage({ lead: [calls("act"), says("Done.")] });
      await stage.run(stage.lead({ tools: [act], hooks }));
      assert.equal(stage.resultsOf("lead")[0]?.output, "late");
    }
  });

  test("a result of 10 MB is cut in the middle, and the cut is said and recorded", async () => {
    const size = 10_000_000;
    const { output, stage } = await resultOf(() => `first${"é".repeat(size / 2)}last`);
    assert.ok(Buffer.byteLength(output) < 100_200);
    assert.match(output, /^firsté+\n\[Notice: \d+ of 10000009 bytes were cut here\]\né+last$/);
    assert.deepEqual(
      stage.eventsOf("truncation").map(({ subject, of, originalBytes }) => ({ subject, of, originalBytes })),
      [{ subject: "tool-result", of: "call_lead_1", originalBytes: size + 9 }],
    );
  });

  test("pictures and documents reach the model beside the text", async () => {
    const picture = { type: "file", mediaType: "image/png", data: "aGk=" } as const;
    const stage = openStage({ lead: [calls("look"), says("A cat.")] });
    const look = simpleTool("look", () => ({ success: true, output: "one picture", documents: [picture] }));
    await stage.run(stage.lead({ tools: [look] }));
    assert.deepEqual(stage.resultsOf("lead")[0]?.files, [picture]);
    assert.deepEqual(stage.eventsOf("tool-call-end")[0]?.files, [picture]);
  });

  test("pictures of a call that failed with an error as an object reach the model, too", async () => {
    const picture = { type: "file", mediaType: "image/png", data: "aGk=" } as const;
    const { output, isError, stage } = await resultOf(() => ({
      success: false,
      error: new Error("The page did not load"),
      documents: [picture],
    }));
    assert.deepEqual([output, isError], ["The page did not load", true]);
    assert.deepEqual(stage.resultsOf("lead")[0]?.files, [picture]);
  });
});

suite("a tool that throws", () => {
  test("a tool that throws gives the model its message, and the developer the stack", async () => {
    const { output, isError, stage } = await resultOf(() => {
      throw new Error("The disk is full");
    });
    assert.deepEqual({ output, isError }, { output: "The disk is full", isError: true });
    assert.match(stage.eventsOf("tool-call-end")[0]?.stack ?? "", /^Error: The disk is full\n {4}at /);
  });

  test("a tool that throws on purpose leaves no stack", async () => {
    const { output, stage } = await resultOf(() => {
      throw new ToolFailure("No file at x. Use glob.");
    });
    assert.deepEqual([output, stage.eventsOf("tool-call-end")[0]?.stack], ["No file at x. Use glob.", undefined]);
  });

  test("a tool that throws later, as a rejection, gives the model its message, too", async () => {
    const { output, isError } = await resultOf(async () => {
      await Promise.resolve();
      throw new Error("too late");
    });
    assert.deepEqual({ output, isError }, { output: "too late", isError: true });
  });

  test("a tool that throws something that is no error gives a failed result all the same", async () => {
    const { output, isError } = await resultOf(() => Promise.reject("just a text"));
    assert.deepEqual({ output, isError }, { output: "just a text", isError: true });
  });

  test("a tool that throws does not disturb the calls beside it", async () => {
    const stage = openStage({ lead: [[calls("bad"), calls("good")], says("Done.")] });
    const bad = simpleTool("bad", () => {
      throw new Error("no");
    });
    await stage.run(stage.lead({ tools: [bad, simpleTool("good", () => "yes")] }));
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output, isError }) => [output, isError]),
      [
        ["no", true],
        ["yes", false],
      ],
    );
  });
});

suite("a call", () => {
  test("a call of an unknown tool is answered with the names of those there are", async () => {
    const stage = openStage({ lead: [calls("fly"), says("Done.")] });
    await stage.run(stage.lead({ tools: [simpleTool("walk")], delegate: false }));
    assert.deepEqual(stage.resultsOf("lead"), [
      {
        type: "tool-result",
        callId: "call_lead_1",
        toolName: "fly",
        output: "Unknown tool: fly. Your tools: walk.",
        isError: true,
      },
    ]);
  });

  test("a call without any tools is told that there are none", async () => {
    const stage = openStage({ lead: [calls("fly"), says("Done.")] });
    await stage.run(stage.lead({ delegate: false }));
    assert.equal(stage.resultsOf("lead")[0]?.output, "Unknown tool: fly. You have no tools.");
  });

  test("a call of a tool that was never shown is refused, recorded and not run", async () => {
    let wrote = 0;
    const write = simpleTool("write", () => ++wrote);
    const stage = openStage({
      lead: [calls("subagent", { label: "x", task_prompt: "Look.", allowed_tools: ["read"] }), says("Done.")],
      "lead/x": [calls("write", { path: "/etc/passwd" }), says("I could not.")],
    });
    await stage.run(stage.lead({ tools: [simpleTool("read"), write] }));
    assert.equal(wrote, 0);
    assert.deepEqual(stage.requestsOf("lead/x")[0]?.tools, ["read"]);
    const [end] = stage.eventsOf("tool-call-end", "lead/x");
    assert.deepEqual(
      [end?.toolName, end?.isError, end?.output],
      ["write", true, "Unknown tool: write. Your tools: read."],
    );
  });

  test("a call of a name that every object has is an unknown tool", async () => {
    const stage = openStage({ lead: [[calls("__proto__"), calls("constructor")], says("Done.")] });
    await stage.run(stage.lead({ delegate: false }));
    assert.deepEqual(
      stage.resultsOf("lead").map(({ output }) => output),
      ["Unknown tool: __proto__. You have no tools.", "Unknown tool: constructor. You have no tools."],
    );
  });

  test("a call with bad input never reaches the tool, and the answer names the field", async () => {
    let ran = 0;
    const inputSchema = z.strictObject({ path: z.string(), depth: z.int().max(3).optional() });
    const read = tool({ name: "read", description: "Reads.", inputSchema, execute: () => ++ran });
    const inputs = [{}, { path: 7 }, { path: "a", depth: 9 }, { path: "a", more: true }, null, [], "{broken"];
    const stage = openStage({ lead: [inputs.map((input) => calls("read", input)), says("Done.")] });
    await stage.run(stage.lead({ tools: [read] }));
    assert.equal(ran, 0);
    const results = stage.resultsOf("lead");
    assert.ok(results.every(({ isError }) => isError));
    assert.match(results[0]?.output ?? "", /^path: /);
    assert.match(results[2]?.output ?? "", /^depth: .*<=3/);
    assert.match(results[3]?.output ?? "", /"more"/);
    assert.deepEqual(
      stage.eventsOf("tool-call-end").map(({ metadata }) => metadata),
      inputs.map(() => ({ error_type: "invalid_input" })),
    );
  });

  test("a call gets the parsed input, with the defaults of the schema", async () => {
    let seen: unknown;
    const inputSchema = z.object({ depth: z.int().default(2), path: z.string().transform((text) => text.trim()) });
    const read = tool({
      name: "read",
      description: "Reads.",
      inputSchema,
      execute(input) {
        seen = input;
      },
    });
    const stage = openStage({ lead: [calls("read", { path: " a " }), says("Done.")] });
    await stage.run(stage.lead({ tools: [read] }));
    assert.deepEqual(seen, { depth: 2, path: "a" });
  });

  test("a call whose id the model used before gets another one", async () => {
    const stage = openStage({
      lead: [
        [calls("look", {}, "same"), calls("look", {}, "same")],
        [calls("look", {}, "same"), calls("look", {}, "")],
        says("Done."),
      ],
    });
    await stage.run(stage.lead({ tools: [simpleTool("look")] }));
    assert.deepEqual(
      stage.eventsOf("tool-call-start").map(({ callId }) => callId),
      ["same", "same_2", "same_3", "call_2"],
    );
  });

  test("a call knows where it is: run, path, depth, folder and its own id", async () => {
    let context: Partial<ToolContext> = {};
    const stage = openStage({
      lead: [calls("subagent", { label: "x", task_prompt: "Look." }), says("Done.")],
      "lead/x": [calls("look", {}, "c1"), says("Seen.")],
    });
    const look = simpleTool("look", (_input, { runId, path, depth, maxDepth, cwd, callId }) => {
      context = { runId, path, depth, maxDepth, cwd, callId };
    });
    await stage.run(stage.lead({ tools: [look] }));
    const child = stage.eventsOf("run-start", "lead/x")[0];
    assert.deepEqual(context, {
      runId: child?.runId,
      path: "lead/x",
      depth: 1,
      maxDepth: 3,
      cwd: "/",
      callId: "c1",
    });
  });
});

test("a listener that a tool leaves at its signal is gone with the call", async () => {
  const heard: string[] = [];
  const listening = (_input: unknown, { callId, signal }: ToolContext) =>
    signal.addEventListener("abort", () => heard.push(callId));
  const stage = openStage({ lead: [calls("look", {}, "c1"), calls("wait", {}, "c2")] });
  const wait = simpleTool("wait", (input, context) => {
    listening(input, context);
    handle.cancel();
  });
  const handle = stage.start(stage.lead({ tools: [simpleTool("look", listening), wait] }));
  await stage.end(handle);
  assert.deepEqual(heard, ["c2"]);
});

test("two tools with one name are refused before anything starts", async () => {
  const stage = openStage({ lead: [says("Done.")] });
  const tools = [simpleTool("look"), simpleTool("look", () => "another")];
  await assert.rejects(
    stage.world.run(() => stage.start(stage.lead({ tools }))),
    {
      name: "UserError",
      message: "Two tools are named look: the model could not tell them apart",
    },
  );
  assert.equal(stage.model.requestCount, 0);
});
