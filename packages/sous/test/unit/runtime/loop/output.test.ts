/** Structured output: JSON of the asked shape, one turn to repair it, then a clear failure. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import * as z from "zod";
import { agent } from "../../../../src/core/agent.ts";
import { ModelError } from "../../../../src/core/errors.ts";
import { textOf } from "../../../../src/core/message.ts";
import type { ModelRequest } from "../../../../src/core/model.ts";
import type { AnySchema } from "../../../../src/core/schema.ts";
import { calls, refuses, says, stopsAtLength } from "../../../../src/testing/steps.ts";
import { openStage, simpleTool } from "../../../support/requirements/support.ts";

const Hits = z.object({ hits: z.array(z.string()).min(1) });

suite("an answer with a schema", () => {
  test("an answer with a schema is parsed, and the model is told the shape", async () => {
    const stage = openStage({ scout: [says('{"hits":["a.ts:1"]}')] });
    const scout = agent({ name: "scout", model: stage.model, instructions: "Find it.", outputSchema: Hits });
    const { status, output, text } = await stage.run(scout);
    assert.deepEqual([status, output, text], ["completed", { hits: ["a.ts:1"] }, '{"hits":["a.ts:1"]}']);
    const { instructions = "" } = stage.requestsOf("scout")[0] ?? {};
    assert.match(instructions, /^Find it\.\n\nWhen you are done, answer with nothing but JSON .*"minItems":1/s);
  });

  test("a schema that JSON cannot say is a UserError that names the agent", async () => {
    for (const outputSchema of [z.object({ at: z.date() }), z.object({ n: z.bigint() })]) {
      const stage = openStage({ scout: [says("{}")] });
      await assert.rejects(stage.run(agent({ name: "scout", model: stage.model, outputSchema })), {
        name: "UserError",
        message: /^The output schema of the agent scout cannot be used: .* cannot be represented in JSON Schema$/,
      });
    }
  });

  test("an answer with a schema may stand in a fence", async () => {
    const stage = openStage({ scout: [says('```json\n{"hits":["a"]}\n```')] });
    const { output } = await stage.run(agent({ name: "scout", model: stage.model, outputSchema: Hits }));
    assert.deepEqual(output, { hits: ["a"] });
  });

  test("an answer with a schema may come in two pieces when the first was cut", async () => {
    const stage = openStage({ scout: [[says('{"hits":["a"'), stopsAtLength()], says(',"b"]}')] });
    const { output } = await stage.run(agent({ name: "scout", model: stage.model, outputSchema: Hits }));
    assert.deepEqual(output, { hits: ["a", "b"] });
  });

  test("an answer with a schema that does not match is repaired in one more turn without tools, also beyond maxTurns", async () => {
    const asked: ModelRequest["settings"][] = [];
    const stage = openStage(
      { scout: [calls("look"), says('{"hits":[]}'), says('{"hits":["b.ts:2"]}')] },
      { model: { onRequest: ({ settings }) => asked.push({ ...settings }) } },
    );
    const scout = agent({
      name: "scout",
      model: stage.model,
      outputSchema: Hits,
      maxTurns: 2,
      tools: [simpleTool("look")],
    });
    const { status, output, turns } = await stage.run(scout);
    assert.deepEqual([status, output, turns], ["completed", { hits: ["b.ts:2"] }, 3]);
    assert.deepEqual(
      stage.eventsOf("turn-start").map(({ turn }) => turn),
      [1, 2, 3],
    );
    const repair = stage.requestsOf("scout").at(-1);
    assert.equal(repair?.mayCallTools, false);
    const last = repair?.messages.at(-1);
    assert.match(textOf(last?.role === "user" ? last : { content: [] }), /^Your answer does not match .*\nhits: /s);
    assert.deepEqual(
      asked.map(({ outputSchema }) => outputSchema !== undefined),
      [true, true, true],
      "every turn asks for the shape",
    );
  });

  test("an answer with a schema that does not match twice fails clearly, with the text", async () => {
    const stage = openStage({ scout: [says("I found nothing."), says("Still nothing.")] });
    const { status, error, text, output } = await stage.run(
      agent({ name: "scout", model: stage.model, outputSchema: Hits }),
    );
    assert.deepEqual([status, error?.type, text, output], ["failed", "model", "Still nothing.", undefined]);
    assert.match(error?.message ?? "", /^The answer does not match the output schema: it is not JSON/);
    assert.equal(stage.model.requestCount, 2);
  });

  test("an answer with a schema that is refused in the repair ends as refused", async () => {
    const stage = openStage({ scout: [says("No JSON."), [says("I will not."), refuses()]] });
    const { status, error } = await stage.run(agent({ name: "scout", model: stage.model, outputSchema: Hits }));
    assert.deepEqual([status, error?.type], ["refused", "refused"]);
  });

  test("an answer with a schema that begins again after a cut is taken as it is", async () => {
    const stage = openStage({ scout: [[says('{"hits":["a"'), stopsAtLength()], says('{"hits":["b"]}')] });
    const { status, output } = await stage.run(agent({ name: "scout", model: stage.model, outputSchema: Hits }));
    assert.deepEqual([status, output], ["completed", { hits: ["b"] }]);
  });

  test("an answer with a schema is asked for in no turn whose tool call is forced, nor in last words", async () => {
    const asked: ModelRequest["settings"][] = [];
    const stage = openStage(
      { scout: [calls("look"), calls("look"), says("Nothing yet.")] },
      { model: { onRequest: ({ settings }) => asked.push({ ...settings }) } },
    );
    const scout = agent({
      ...{ name: "scout", model: stage.model, outputSchema: Hits, tools: [simpleTool("look")] },
      ...{ maxTurns: 2, toolChoice: "required" },
    });
    await stage.run(scout);
    assert.deepEqual(
      asked.map(({ outputSchema, toolChoice }) => [outputSchema !== undefined, toolChoice]),
      [
        [false, "required"],
        [true, undefined],
      ],
    );
  });

  test("an answer with a schema is asked for without the schema when a model refuses it, also when nothing else is tried again", async () => {
    const asked: boolean[] = [];
    const inner = openStage({ scout: [says('{"hits":["a"]}')] });
    const model = {
      id: "test/picky",
      maxRetries: 0,
      answer: async (...given: Parameters<typeof inner.model.answer>) => {
        const [request] = given;
        asked.push(request.settings.outputSchema !== undefined);
        if (request.settings.outputSchema !== undefined) throw new ModelError("output_schema", "No schemas, please");
        return inner.model.answer(...given);
      },
    };
    const { status, output } = await inner.run(agent({ name: "scout", model, outputSchema: Hits }));
    assert.deepEqual([status, output, asked], ["completed", { hits: ["a"] }, [true, false]]);
    assert.deepEqual(
      inner.eventsOf("retry").map(({ kind }) => kind),
      ["output_schema"],
    );
  });

  test("an answer with a schema that is longer than two million characters is not parsed", async () => {
    const ofLength = (length: number) => `"${"x".repeat(length - 2)}"`;
    const stage = openStage({ scout: [says(ofLength(2_000_001)), says(ofLength(2_000_000))] });
    const { status, output } = await stage.run(
      agent({ name: "scout", model: stage.model, outputSchema: { type: "string" } }),
    );
    assert.deepEqual([status, (output as string).length], ["completed", 1_999_998]);
    const [notice] = stage.eventsOf("notice");
    assert.match(notice?.text ?? "", /\nit is longer than 2000000 characters$/);
  });

  test("an answer of a child that does not match its schema is a failed result for its parent, never an exception", async () => {
    const stage = openStage({
      lead: [
        calls("subagent", { label: "x", task_prompt: "Count.", output_schema: { type: "number" } }),
        says("Then not."),
      ],
      "lead/x": [says("many"), says("very many")],
    });
    const result = await stage.run(stage.lead());
    assert.deepEqual([result.status, result.text], ["completed", "Then not."]);
    const [read] = stage.resultsOf("lead");
    assert.match(read?.output ?? "", /^Subagent failed: The answer does not match the output schema: /);
    assert.equal(read?.isError, true);
  });

  test("an answer of a child with a schema from the call is its report", async () => {
    const stage = openStage({
      lead: [
        calls("subagent", { label: "x", task_prompt: "Count.", output_schema: { type: "number" } }),
        says("Seven."),
      ],
      "lead/x": [says("7")],
    });
    await stage.run(stage.lead());
    assert.match(stage.resultsOf("lead")[0]?.output ?? "", /^7\n/);
    assert.match(stage.requestsOf("lead/x")[0]?.instructions ?? "", /\{"type":"number"\}$/);
  });

  test("the schema of a fork's answer is told with its task, because its instructions are its parent's", async () => {
    const input = { label: "x", task_prompt: "Count.", output_schema: { type: "number" }, context: "fork" };
    const stage = openStage({ lead: [calls("subagent", input), says("Seven.")], "lead/x": [says("7")] });
    await stage.run(stage.lead({ instructions: "You lead." }));
    const [request] = stage.requestsOf("lead/x");
    assert.equal(request?.instructions, "You lead.");
    const last = request?.messages.at(-1);
    assert.match(
      textOf(last?.role === "user" ? last : { content: [] }),
      /^Count\.\n\nWhen you are done, .*\{"type":"number"\}$/s,
    );
  });

  const schemas: [string, AnySchema][] = [
    ["zod", Hits],
    ["valibot", toStandardJsonSchema(v.object({ hits: v.array(v.string()) }))],
    ["arktype", type({ hits: "string[]" }) as AnySchema],
    ["JSON Schema", { type: "object", properties: { hits: { type: "array", items: { type: "string" } } } }],
  ];
  for (const [name, outputSchema] of schemas) {
    test(`the schema of an answer may be described in ${name}`, async () => {
      const stage = openStage({ scout: [says('{"hits":7}'), says('{"hits":["a"]}')] });
      const { output } = await stage.run(agent({ name: "scout", model: stage.model, outputSchema }));
      assert.deepEqual(output, { hits: ["a"] });
    });
  }
});
