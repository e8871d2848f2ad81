/** Schemas that are sent to each model, and the form in which they are sent. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import * as z from "zod";
import type { JsonSchema } from "../../../../src/core/schema.ts";
import { fromAiSdk } from "../../../../src/runtime/model/ai-sdk.ts";
import { resolveModel } from "../../../../src/runtime/model/resolve.ts";
import { compileSchema } from "../../../../src/runtime/schema/compile.ts";
import { finish, request, stubModel, WEATHER } from "../../../support/runtime/model/requests.ts";

const KEYS = {
  ...{ ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k", GEMINI_API_KEY: "k", OPENROUTER_API_KEY: "k" },
  OPENAI_COMPATIBLE_BASE_URL: "http://host/v1",
};

// biome-ignore lint/suspicious/noExplicitAny: bodies of several protocols.
type Body = any;

/** The body of a request whose answer is to have this shape. */
async function bodyOf(id: string, outputSchema: JsonSchema, hasTools: boolean, mayCallTools = true): Promise<Body> {
  let body = "";
  const model = await resolveModel(id, KEYS, {
    fetch: async (_, init) => {
      body = String(init?.body);
      return new Response("{}", { status: 401 });
    },
  });
  const settings = { maxOutputTokens: undefined, outputSchema };
  const asked = request({ tools: hasTools ? [WEATHER] : [], mayCallTools, settings });
  await assert.rejects(async () => model.answer(asked, () => {}));
  return JSON.parse(body);
}

/** `strict`, `loose`, or `prompt` when the schema is not sent. */
function formOf(body: Body): string {
  const format = body.text?.format ?? body.response_format?.json_schema;
  if (format !== undefined) return format.strict === true ? "strict" : "loose";
  const isSent = body.output_config?.format ?? body.generationConfig?.responseJsonSchema;
  return isSent === undefined ? "prompt" : "strict";
}

function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const compiled = compileSchema(schema);
  assert(!(compiled instanceof Promise));
  return compiled.jsonSchema;
}

const PLAIN = jsonSchemaOf(z.object({ hits: z.array(z.string()), count: z.int().nullable() }));

suite("a plain schema", () => {
  const MODELS: readonly [id: string, alone: string, withTools: string, closing: string][] = [
    ["anthropic/claude-sonnet-4-5", "strict", "strict", "strict"],
    ["anthropic/claude-sonnet-5", "strict", "strict", "strict"],
    ["anthropic/claude-opus-4-1-20250805", "strict", "strict", "strict"],
    ["anthropic/claude-sonnet-4-20250514", "prompt", "prompt", "prompt"],
    ["anthropic/claude-3-5-haiku-latest", "prompt", "prompt", "prompt"],
    ["anthropic/some-proxy-model", "prompt", "prompt", "prompt"],
    ["openai/gpt-5.5", "strict", "strict", "strict"],
    ["openai/gpt-4o", "strict", "strict", "strict"],
    ["openai/gpt-4-turbo", "prompt", "prompt", "prompt"],
    ["openai-chat/gpt-4.1", "strict", "strict", "strict"],
    ["openai-chat/gpt-3.5-turbo", "prompt", "prompt", "prompt"],
    ["google/gemini-3-pro-preview", "strict", "strict", "strict"],
    ["google/gemini-2.5-flash", "strict", "prompt", "prompt"],
    ["google/gemma-3-27b-it", "prompt", "prompt", "prompt"],
    ["openai-compatible/some-model", "loose", "prompt", "loose"],
    ["ollama/llama3.2", "loose", "prompt", "loose"],
    ["openrouter/some/model", "loose", "prompt", "loose"],
  ];
  for (const [id, alone, withTools, closing] of MODELS) {
    test(`a plain schema is asked of ${id} as ${alone} alone, ${withTools} with tools, ${closing} in a closing turn`, async () => {
      const bodies = [
        await bodyOf(id, PLAIN, false),
        await bodyOf(id, PLAIN, true),
        await bodyOf(id, PLAIN, true, false),
      ];
      assert.deepEqual(bodies.map(formOf), [alone, withTools, closing]);
      for (const body of bodies) {
        const names = JSON.stringify(body.tools ?? []);
        assert.doesNotMatch(names, /"name":"json/, "no tool in place of the answer");
      }
    });
  }

  test("a plain schema is not asked of a model of an unknown provider, nor of one that does not say that it takes it", async () => {
    for (const provider of ["mistral.chat", "groq.chat"]) {
      const stub = stubModel([finish()], provider);
      await fromAiSdk(stub).answer(
        request({ settings: { maxOutputTokens: undefined, outputSchema: PLAIN } }),
        () => {},
      );
      assert.equal(stub.calls[0]?.responseFormat, undefined);
    }
  });
});

suite("other schemas", () => {
  const HUNDRED = z.enum(Array.from({ length: 100 }, (_, at) => `v${at}`) as [string, ...string[]]);
  const Person = z.object({ name: z.string() });
  const SCHEMAS: readonly [name: string, schema: JsonSchema, anthropic: string, openai: string, google: string][] = [
    ["an optional property", jsonSchemaOf(z.object({ a: z.string().optional() })), "strict", "loose", "strict"],
    ["a map", jsonSchemaOf(z.record(z.string(), z.number())), "prompt", "loose", "strict"],
    ["a map inside", jsonSchemaOf(z.object({ m: z.record(z.string(), z.number()) })), "prompt", "loose", "strict"],
    ["a union at the root", jsonSchemaOf(z.union([Person, z.object({ n: z.number() })])), "strict", "prompt", "strict"],
    ["a union inside", jsonSchemaOf(z.object({ u: z.union([Person, z.number()]) })), "strict", "strict", "strict"],
    ["a list at the root", jsonSchemaOf(z.array(Person)), "strict", "prompt", "strict"],
    ["any value", jsonSchemaOf(z.object({ v: z.any() })), "prompt", "loose", "strict"],
    ["a format that is not known", jsonSchemaOf(z.object({ u: z.url() })), "strict", "loose", "strict"],
    ["a length", jsonSchemaOf(z.object({ s: z.string().min(3) })), "strict", "loose", "strict"],
    [
      "more than a thousand values in all",
      jsonSchemaOf(z.object(Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`p${at}`, HUNDRED])))),
      "strict",
      "loose",
      "strict",
    ],
    ["an open object", { type: "object" }, "prompt", "loose", "strict"],
    [
      "a reference to itself",
      { type: "object", properties: { next: { $ref: "#" } }, required: ["next"] },
      "prompt",
      "strict",
      "strict",
    ],
    [
      "many optional properties",
      {
        type: "object",
        properties: Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`p${at}`, { type: "string" }])),
      },
      "prompt",
      "loose",
      "strict",
    ],
  ];
  for (const [name, schema, anthropic, openai, google] of SCHEMAS) {
    test(`a schema with ${name} is sent ${anthropic} to Anthropic, ${openai} to OpenAI and ${google} to Google`, async () => {
      const ids = ["anthropic/claude-sonnet-4-5", "openai/gpt-5.5", "google/gemini-3-pro-preview"];
      const bodies = await Promise.all(ids.map((id) => bodyOf(id, schema, true)));
      assert.deepEqual(bodies.map(formOf), [anthropic, openai, google]);
    });
  }

  test("a schema that is very deep or very large is asked for by the prompt alone", async () => {
    let deep: JsonSchema = { type: "string" };
    for (let level = 0; level < 10_000; level++) deep = { type: "object", properties: { a: deep }, required: ["a"] };
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`p${at}`, { type: "string" }]));
    for (const schema of [deep, { type: "object", properties: many, required: Object.keys(many) }])
      for (const id of ["anthropic/claude-sonnet-4-5", "openai/gpt-5.5", "google/gemini-3-pro-preview"])
        assert.equal(formOf(await bodyOf(id, schema, false)), "prompt");
  });
});
