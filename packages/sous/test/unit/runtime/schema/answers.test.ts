/** The words about many values by many schemas, letter by letter: a model repairs its answer by them. */

import { test } from "node:test";
import { UserError } from "../../../../src/core/errors.ts";
import type { JsonSchema } from "../../../../src/core/schema.ts";
import { compileSchema } from "../../../../src/runtime/schema/compile.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";

const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  1,
  2,
  3,
  1.5,
  -1,
  "",
  "a",
  "ab",
  "abc",
  "😀😀",
  [],
  [1],
  [1, 1],
  [1, 2, 3],
  ["a", 1],
  [{ a: 1 }, { a: 1 }],
  {},
  { a: 1 },
  { a: "x" },
  { b: 1 },
  { a: 1, b: 2 },
  { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7 },
  { a: { a: 1 } },
  { a: { b: [1, "x", { c: null }] } },
  JSON.parse('{ "__proto__": 1, "constructor": 2 }'),
];

const SCHEMAS: readonly JsonSchema[] = [
  { type: "string" },
  { type: ["string", "null", "integer"] },
  { type: "boolean" },
  { type: "array", minItems: 1, maxItems: 2 },
  { type: "object", minProperties: 1, maxProperties: 2 },
  { enum: [1, "a", null] },
  { enum: [1] },
  { enum: Array.from({ length: 12 }, (_, index) => `w${index}`) },
  { enum: Array.from({ length: 9 }, (_, index) => "w".repeat(40) + index) },
  { const: { a: 1 } },
  { const: false },
  { minLength: 1 },
  { minLength: 2, maxLength: 2 },
  { pattern: "^a+$" },
  { pattern: `^(?:${"a".repeat(300)})?$` },
  { minimum: 1, maximum: 2 },
  { exclusiveMinimum: 1, exclusiveMaximum: 3 },
  { minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: true },
  { multipleOf: 2 },
  { multipleOf: 0.5 },
  { items: { type: "integer" } },
  { items: false },
  { prefixItems: [{ type: "integer" }, { const: 2 }] },
  { prefixItems: [{ type: "string" }], items: { minimum: 1 } },
  { items: [{ type: "string" }], additionalItems: { type: "string" } },
  { uniqueItems: true },
  { uniqueItems: false },
  { contains: { const: 1 } },
  { contains: { const: 1 }, minContains: 2 },
  { contains: { const: 1 }, minContains: 0, maxContains: 1 },
  { properties: { a: { type: "integer" } }, required: ["a", "b"] },
  { properties: { a: true }, additionalProperties: false },
  { properties: { a: false } },
  { additionalProperties: { type: "integer" } },
  { patternProperties: { "^[ab]$": { maximum: 1 } } },
  { patternProperties: { "^[ab]$": { maximum: 1 } }, additionalProperties: false },
  { properties: { a: { maximum: 0 } }, patternProperties: { a: { multipleOf: 5 } } },
  { propertyNames: { pattern: "^[a-f]$" } },
  { required: ["constructor", "toString"] },
  { required: ["constructor"], properties: { ["__proto__"]: { type: "string" } } },
  { allOf: [{ minimum: 1 }, { maximum: 2 }] },
  { allOf: [{ minimum: 2 }, { minimum: 3 }] },
  { anyOf: [{ minimum: 3 }, { type: "string", minLength: 2 }] },
  {
    anyOf: [
      { type: "object", required: ["a"] },
      { type: "object", required: ["b"] },
    ],
  },
  { oneOf: [{ minimum: 1 }, { maximum: 2 }] },
  { oneOf: [{ type: "string" }, { type: "integer" }] },
  { not: { type: "number" } },
  JSON.parse('{ "if": { "type": "number" }, "then": { "minimum": 1 }, "else": { "type": "string" } }'),
  JSON.parse('{ "if": { "type": "number" }, "then": { "minimum": 1 } }'),
  JSON.parse('{ "if": { "type": "number" }, "else": { "type": "string" } }'),
  JSON.parse('{ "then": { "minimum": 1 }, "else": { "type": "string" } }'),
  { $ref: "#/$defs/n", $defs: { n: { type: "integer", minimum: 1 } } },
  { $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "string" } } },
  { $ref: "#/$defs/a~0b", $defs: { "a~b": { type: "string" } } },
  { properties: { a: { $ref: "#" } }, additionalProperties: { type: "integer" } },
  { properties: { a: { default: 5 }, b: { default: { c: 1 } } } },
  { properties: { a: { default: 5 } }, required: ["a"] },
  { properties: { a: { $ref: "#/$defs/d" } }, $defs: { d: { $ref: "#/$defs/e" }, e: { default: "behind" } } },
  { items: { properties: { b: { default: 1 } } } },
  { properties: { a: { properties: { z: { default: 0 } } } } },
  { anyOf: [{ type: "object", properties: { z: { default: 1 } }, required: ["b"] }, { type: "object" }] },
  { additionalProperties: { properties: { z: { default: 1 } } } },
  { properties: { a: { properties: { b: { items: { type: "string" } } } } } },
  // These cannot be used.
  { type: "text" },
  { type: 5 },
  { type: "constructor" },
  { minimum: "1" },
  { minLength: null },
  { pattern: 5 },
  { pattern: "(?<=a)b" },
  { pattern: "a".repeat(4001) },
  { enum: "a" },
  { required: "a" },
  { required: [1] },
  { properties: [] },
  { properties: { a: 5 } },
  { items: 5 },
  { allOf: {} },
  { allOf: [5] },
  { multipleOf: 0 },
  { multipleOf: -1 },
  { $ref: 5 },
  { $ref: "https://example.org/a" },
  { $ref: "#/nothing" },
  { $ref: "#a" },
  { $ref: "#" },
  { $ref: "#/$defs/%E0%A4", $defs: {} },
  { allOf: [{ $ref: "#" }] },
  { unevaluatedProperties: false },
  { dependentRequired: {} },
  { not: [] },
];

async function answersOf(schema: JsonSchema): Promise<string[]> {
  try {
    const compiled = await compileSchema(schema);
    const said: string[] = [];
    for (const value of VALUES) {
      const parsed = await compiled.parse(value);
      const text = JSON.stringify(value);
      const answer = JSON.stringify(parsed);
      if (answer !== JSON.stringify({ ok: true, value })) said.push(`  ${text}: ${answer}`);
    }
    return said;
  } catch (error) {
    if (error instanceof UserError) return [`  cannot be used: ${error.message}`];
    throw error;
  }
}

test("each value that is not simply right gets exactly these words", async () => {
  const lines: string[] = [];
  for (const schema of SCHEMAS) lines.push(JSON.stringify(schema).slice(0, 150), ...(await answersOf(schema)));
  assertGolden("answers.txt", lines, import.meta.dirname);
});
