/** JSON Schemas are checked by rules of our own: the same verdicts as others give, in bounded time. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import * as z from "zod";
import { UserError } from "../../../../src/core/errors.ts";
import type { JsonSchema, Parsed } from "../../../../src/core/schema.ts";
import { compileSchema } from "../../../../src/runtime/schema/compile.ts";

async function parse(schema: JsonSchema, value: unknown): Promise<Parsed> {
  return (await compileSchema(schema)).parse(value);
}

suite("a JSON Schema", () => {
  const verdicts: [schema: JsonSchema, right: unknown[], wrong: unknown[]][] = [
    [{ type: ["string", "null"] }, ["a", null], [1, []]],
    [{ type: "integer", minimum: 1, exclusiveMaximum: 3 }, [1, 2], [0, 3, 1.5, "1"]],
    [{ minimum: 5, exclusiveMinimum: true }, [6, "text"], [5]],
    [{ multipleOf: 0.1 }, [0.3, 7], [0.35]],
    [{ minLength: 2, maxLength: 2 }, ["ab", "😀😀", 7], ["a", "abc"]],
    [{ pattern: "b.d" }, ["abcde"], ["ab\nde"]],
    [{ enum: [1, "a", { b: [2], c: 3 }] }, [1, "a", { c: 3, b: [2] }], ["1", { b: [2] }]],
    [{ const: null }, [null], [0, {}]],
    [
      { prefixItems: [{ type: "string" }], items: { type: "number" }, minItems: 1 },
      [["a"], ["a", 1]],
      [[], [1], ["a", "b"]],
    ],
    [{ items: [{ type: "string" }], additionalItems: false }, [["a"]], [["a", 1]]],
    [
      { uniqueItems: true },
      [[1, "1", { a: 1 }]],
      [
        [1, 1],
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
      ],
    ],
    [{ contains: { const: 1 }, maxContains: 2 }, [[1], [1, 1, 2]], [[], [1, 1, 1]]],
    [{ properties: { a: { type: "number" } }, required: ["b"] }, [{ b: 1 }, { a: 1, b: 1 }], [{}, { a: "x", b: 1 }]],
    [{ properties: { a: {} }, additionalProperties: false }, [{}, { a: 1 }], [{ b: 1 }, { constructor: 1 }]],
    [
      { patternProperties: { "^n": { type: "number" } }, additionalProperties: false },
      [{ n1: 1 }],
      [{ n1: "a" }, { m: 1 }],
    ],
    [{ propertyNames: { maxLength: 2 }, minProperties: 1 }, [{ ab: 1 }], [{}, { abc: 1 }]],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, [1], [0, 3]],
    [{ oneOf: [{ minimum: 1 }, { maximum: 2 }] }, [0, 3], [1]],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, ["a", null], [1]],
    [{ not: { type: "string" } }, [1], ["a"]],
    [JSON.parse('{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":2}}'), ["ab", 2], ["a", 1]],
    [{ $ref: "#/$defs/a%20b", $defs: { "a b": { type: "number" } } }, [1], ["a"]],
    [
      { type: "object", properties: { next: { $ref: "#" } }, required: ["value"] },
      [{ value: 1, next: { value: 2 } }],
      [{ value: 1, next: {} }],
    ],
    [{ required: ["toString", "__proto__"] }, [JSON.parse('{"toString":1,"__proto__":2}')], [{}]],
    [{ format: "email" }, ["a.b+c@example.co.uk"], ["a..b@example.org", "a@b", "@example.org", "a b@example.org"]],
    [{ format: "date" }, ["2024-02-29", "2000-02-29"], ["2023-02-29", "1900-02-29", "2024-04-31", "2024-1-1"]],
    [
      { format: "date-time" },
      ["2024-02-29T23:59:60Z", "2024-01-01T00:00:00.5+01:00"],
      ["2024-01-01", "2024-01-01T24:00:00Z"],
    ],
    [{ format: "time" }, ["12:00:00Z"], ["12:00", "25:00:00Z"]],
    [{ format: "duration" }, ["P1Y2M3DT4H5M6S", "P4W", "PT1M"], ["P", "PT", "1D", "P1D2W"]],
    [{ format: "hostname" }, ["example.org", "a-b.c"], ["-a.b", "a..b", "a_b"]],
    [{ format: "ipv4" }, ["127.0.0.1"], ["256.0.0.1", "1.2.3"]],
    [{ format: "ipv6" }, ["::1", "::ffff:1.2.3.4"], ["1::2::3", "fe80::1%eth0"]],
    [{ format: "uri" }, ["https://example.org/a?b#c", "urn:a:b"], ["example.org", "http://a b"]],
    [{ format: "uuid" }, ["123e4567-e89b-12d3-a456-426614174000"], ["123e4567"]],
    [{ format: "our-own", title: "T", "x-note": 1 }, ["anything"], []],
  ];
  for (const [schema, right, wrong] of verdicts) {
    test(`${JSON.stringify(schema)} tells right values from wrong ones`, async () => {
      for (const value of right) assert.deepEqual(await parse(schema, value), { ok: true, value });
      for (const value of wrong) assert.equal((await parse(schema, value)).ok, false, JSON.stringify(value));
    });
  }

  test("a JSON Schema says what is wrong and where, in a bounded number of short sentences", async () => {
    const schema = {
      type: "object",
      properties: { hits: { type: "array", items: { type: "object", properties: { line: { type: "integer" } } } } },
      required: ["hits", "name"],
      additionalProperties: false,
    };
    assert.deepEqual(await parse(schema, { hits: [{ line: 1 }, { line: "x" }], "o\u001b": 1 }), {
      ok: false,
      problems: [
        "hits.1.line: Invalid input: expected integer, received string",
        'Unrecognized key: "o\\u001b"',
        "name: Invalid input: it is required and missing",
      ],
    });
    const many = await parse({ additionalProperties: { type: "null" } }, Object.fromEntries(names(1000)));
    assert.equal(many.ok ? 0 : many.problems.length, 20);
    assert.ok(many.ok || many.problems.every((problem) => problem.length < 500));
  });

  test("a JSON Schema fills in its defaults without changing the value, also one named __proto__ and one behind a reference", async () => {
    const schema = JSON.parse(
      '{"properties":{"__proto__":{"default":{"a":1}},"b":{"$ref":"#/$defs/b"},"c":{"properties":{"d":{"default":[]}}}},"required":["b"],"$defs":{"b":{"default":2}}}',
    );
    const value = { c: {} };
    const parsed = await parse(schema, value);
    assert.equal(JSON.stringify(parsed), '{"ok":true,"value":{"c":{"d":[]},"__proto__":{"a":1},"b":2}}');
    assert.deepEqual(value, { c: {} });
  });

  const refused: [schema: JsonSchema, message: RegExp][] = [
    [
      { pattern: "^(?=.*a)b" },
      /The pattern "\^\(\?=\.\*a\)b" cannot be used: look-around .* at character 2\. Write it/,
    ],
    [{ pattern: "(a)\\1" }, /back-references are not supported/],
    [{ patternProperties: { "(?<!a)b": {} } }, /look-around/],
    [{ propertyNames: { pattern: "(?i)a" } }, /look-around and flags are not supported/],
    [{ pattern: "a[]" }, /a set is empty; write \[\\s\\S\]/],
    [{ pattern: "((a{1,90}){90}){90}" }, /The pattern is too large/],
    [{ pattern: "a".repeat(5000) }, /a pattern is longer than 4000 characters/],
    [
      { allOf: Array.from({ length: 200 }, (_, index) => ({ pattern: `a{1000}${index}` })) },
      /patterns are too large together/,
    ],
    // However small they are, the engine may need 256 KB for each.
    [
      { anyOf: Array.from({ length: 101 }, (_, index) => ({ pattern: `a${index}` })) },
      /patterns are too large together/,
    ],
    [{ $ref: "#/$defs/none" }, /Reference not found: #\/\$defs\/none/],
    [{ $ref: "https://example.org/schema" }, /points outside of the schema/],
    [{ $ref: "#" }, /leads back to itself/],
    [{ properties: { a: { allOf: [{ $ref: "#/properties/a" }] } } }, /leads back to itself/],
    [{ unevaluatedProperties: false }, /unevaluatedProperties is not supported/],
    [{ type: "strnig" }, /Unsupported type: "strnig"/],
    [{ required: true }, /required must be a list/],
    [{ properties: { a: 1 } }, /a must be a schema/],
    [{ minLength: "2" }, /minLength must be a number/],
    [{ multipleOf: 0 }, /multipleOf must be greater than 0/],
    [{ description: "a".repeat(600_000) }, /longer than 500000 characters/],
    [{ allOf: Array.from({ length: 20_001 }, () => ({})) }, /more than 20000 schemas/],
  ];
  for (const [schema, message] of refused) {
    test(`${JSON.stringify(schema).slice(0, 60)} is refused with a sentence`, async () => {
      await assert.rejects(
        async () => compileSchema(schema),
        (error) => error instanceof UserError && message.test(error.message) && error.message.length <= 400,
      );
    });
  }

  test("a JSON Schema that zod has written for a format can be read, but for the three with look-around", async () => {
    const iso = [z.iso.datetime(), z.iso.date(), z.iso.time()];
    const addresses = [z.email(), z.url(), z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6(), z.mac(), z.e164()];
    const others = [z.uuid(), z.ulid(), z.base64(), z.base64url(), z.jwt(), z.templateLiteral(["a", z.number()])];
    for (const each of [...iso, ...addresses, ...others]) await compileSchema(written(each));
    assert.equal((await parse(written(z.email()), "a@example.org")).ok, true);
    for (const each of [z.iso.duration(), z.hostname(), z.emoji()]) {
      await assert.rejects(async () => compileSchema(written(each)), /look-around/);
    }
  });

  test("a JSON Schema gives the same verdicts as zod for generated schemas and values", async () => {
    const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<JsonSchema>({ type: "null" }, { type: "boolean" }, { enum: ["a", 1, null] }, { const: "b" }),
        fc.record({
          type: fc.constant("string"),
          minLength: fc.nat(3),
          pattern: fc.constantFrom("a", "^a*$", "[^b]", "(a|b)+c?"),
        }),
        fc.record({ type: fc.constantFrom("number", "integer"), minimum: fc.nat(3), exclusiveMaximum: fc.nat(6) }),
        fc.record({ type: fc.constant("array"), items: tie("schema"), maxItems: fc.nat(3), uniqueItems: fc.boolean() }),
        fc
          .record({
            type: fc.constant("object"),
            properties: fc.dictionary(fc.constantFrom("a", "b", "c"), tie("schema"), {
              maxKeys: 3,
              noNullPrototype: true,
            }),
            // zod takes this only for what `properties` names.
            required: fc.uniqueArray(fc.constantFrom("a", "b"), { maxLength: 2 }),
            additionalProperties: fc.oneof(fc.boolean(), tie("schema")),
          })
          .map((made) => ({ ...made, required: made.required.filter((name) => Object.hasOwn(made.properties, name)) })),
        fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
      ),
    }));
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<unknown>(null, true, "", "a", "b", "aab", "bcc", 0, 1, 2, 2.5, 5),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom("a", "b", "c", "d"), tie("value"), { maxKeys: 3, noNullPrototype: true }),
      ),
    })).value;
    await fc.assert(
      fc.asyncProperty(schema, fc.array(value, { minLength: 1, maxLength: 20 }), async (one, values) => {
        const other = z.fromJSONSchema(one);
        for (const each of values) {
          assert.equal((await parse(one, each)).ok, other.safeParse(each).success, JSON.stringify([one, each]));
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** As in a file: what zod gives is still a schema of zod. */
function written(schema: z.ZodType): JsonSchema {
  return JSON.parse(JSON.stringify(z.toJSONSchema(schema)));
}

function names(count: number): [string, number][] {
  return Array.from({ length: count }, (_, index) => [`${"n".repeat(index % 300)}${index}`, index]);
}

test("B8: a value that is nested too deeply for a schema that refers to itself is refused", async () => {
  const nested = (depth: number) => JSON.parse("[".repeat(depth) + "]".repeat(depth));
  const schema = { type: "array", items: { $ref: "#" } };
  assert.equal((await parse(schema, nested(200))).ok, true);
  const refused = await parse(schema, nested(700));
  assert.ok(!refused.ok);
  assert.match(JSON.stringify(refused), /it is nested too deeply for its schema/);
});
