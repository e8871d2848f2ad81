/** JSON Schemas and answers built to be slow to check: for R16 and for the tests of `runtime/schema/`. */

export type HostileSchema = {
  readonly name: string;
  readonly schema: object;
  /** The text of the model's answer. */
  readonly answer: string;
};

/** Answers of one megabyte and more. */
export const HOSTILE_SCHEMAS: HostileSchema[] = hostileSchemas(1_000_000);

/** The same with answers of about so many characters, where it is the length that makes them slow. */
export function hostileSchemas(size: number): HostileSchema[] {
  const longRunOfA = JSON.stringify(`${"a".repeat(size)}!`);
  return [
    { name: "a pattern with nested repetitions", schema: text({ pattern: "^(a+)+$" }), answer: longRunOfA },
    { name: "a pattern with choices that overlap", schema: text({ pattern: "^(a|aa|a?)+$" }), answer: longRunOfA },
    {
      name: "a pattern of many repetitions in a row",
      schema: text({ pattern: "a*a*a*a*a*a*a*b$" }),
      answer: longRunOfA,
    },
    {
      name: "a pattern that is large when it is written out",
      schema: text({ pattern: "(.?){900}b$" }),
      answer: longRunOfA,
    },
    {
      name: "a pattern with a large set, on text outside ASCII",
      schema: text({ pattern: `(x|[${distinctCharacters(400)}]){1,400}!$` }),
      answer: JSON.stringify("\u{10400}".repeat(size / 4)),
    },
    {
      name: "a pattern for the names of properties",
      schema: { type: "object", patternProperties: { "^(a+)+$": { type: "number" } } },
      answer: `{${longRunOfA}:1}`,
    },
    {
      name: "a thousand patterns for a hundred thousand names",
      schema: {
        type: "object",
        patternProperties: Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`(.*x){3}${index}$`, {}])),
      },
      answer: JSON.stringify(
        Object.fromEntries(Array.from({ length: size / 10 }, (_, index) => [`name${index}`, index])),
      ),
    },
    {
      name: "a pattern in propertyNames",
      schema: { type: "object", propertyNames: { pattern: "^(a+)+$" } },
      answer: `{${longRunOfA}:1}`,
    },
    {
      name: "definitions that refer twice to the next one, for one value",
      schema: { $ref: "#/$defs/d0", $defs: doubling((next) => ({ allOf: [next, next] })) },
      answer: "1",
    },
    {
      name: "definitions that are tried twice, for one value",
      schema: { $ref: "#/$defs/d0", $defs: doubling((next) => ({ anyOf: [next, next] })) },
      answer: '"text"',
    },
    {
      name: "properties that refer twice to the next definition",
      schema: {
        $ref: "#/$defs/d0",
        $defs: doubling((next) => ({ type: "object", properties: { a: next, b: next }, required: ["a"] })),
      },
      answer: `${'{"a":'.repeat(26)}"text"${"}".repeat(26)}`,
    },
    {
      name: "a recursive schema that tries every level twice",
      schema: {
        anyOf: [
          { type: "array", items: { $ref: "#" }, maxItems: 1 },
          { type: "array", items: { $ref: "#" }, minItems: 1 },
          { type: "number" },
        ],
      },
      answer: `${"[".repeat(90)}"text"${"]".repeat(90)}`,
    },
    { name: "a schema that refers to itself", schema: { anyOf: [{ $ref: "#" }, { type: "string" }] }, answer: "1" },
    {
      name: "a schema nested in itself twenty thousand times",
      schema: nested(20_000, (inner) => ({ type: "array", items: inner })),
      answer: "[".repeat(100) + "]".repeat(100),
    },
    {
      name: "a long list of items that must be unique",
      schema: { type: "array", uniqueItems: true },
      answer: JSON.stringify(Array.from({ length: size / 10 }, (_, index) => ({ key: [index] }))),
    },
    {
      name: "items that must be unique at each of ninety levels",
      schema: { type: "array", uniqueItems: true, items: { anyOf: [{ $ref: "#" }, { type: "number" }] } },
      answer: `${"[".repeat(90)}${JSON.stringify(Array.from({ length: size * 0.3 }, (_, index) => index))}${"]".repeat(90)}`,
    },
    {
      name: "a list of twenty thousand values, for five times as many items",
      schema: { type: "array", items: { enum: Array.from({ length: 20_000 }, (_, index) => [`value ${index}`]) } },
      answer: JSON.stringify(Array.from({ length: size / 10 }, (_, index) => [`value ${20_000 - index}`])),
    },
    {
      name: "a thousand alternatives for each of a hundred thousand items",
      schema: {
        type: "array",
        items: { oneOf: Array.from({ length: 1000 }, (_, index) => ({ type: "string", minLength: index + 5 })) },
      },
      answer: JSON.stringify(Array.from({ length: size / 10 }, () => "abc")),
    },
    {
      name: "a long list of wrong items",
      schema: { type: "array", items: { type: "string" } },
      answer: `[${"1,".repeat(size * 0.9)}1]`,
    },
    {
      name: "a long list of names that are not allowed",
      schema: { type: "object", properties: { a: {} }, additionalProperties: false },
      answer: `{${Array.from({ length: size / 8 }, (_, index) => `"n${index}":1`).join(",")}}`,
    },
    {
      name: "an email that does not end",
      schema: text({ format: "email" }),
      answer: JSON.stringify("a@a.".repeat(size / 4)),
    },
    {
      name: "a host name that does not end",
      schema: text({ format: "hostname" }),
      answer: JSON.stringify("a.".repeat(size / 2)),
    },
    {
      name: "an address that does not end",
      schema: text({ format: "uri" }),
      answer: JSON.stringify(`http://${"é".repeat(size)}`),
    },
    {
      name: "a duration that does not end",
      schema: text({ format: "duration" }),
      answer: JSON.stringify(`P${"1".repeat(size)}`),
    },
    {
      name: "an IPv6 address that does not end",
      schema: text({ format: "ipv6" }),
      answer: JSON.stringify(":1".repeat(size / 2)),
    },
    {
      name: "base64 that does not end",
      schema: text({ format: "base64" }),
      answer: JSON.stringify(`${"A".repeat(size)}!`),
    },
    {
      name: "the name of a type, fifty thousand times",
      schema: { type: "array", contains: { type: Array.from({ length: 50_000 }, () => "null") } },
      answer: `[${"1,".repeat(size / 4)}1]`,
    },
    {
      name: "values to compare with, for every item of a list",
      schema: { type: "array", contains: { enum: Array.from({ length: 40_000 }, (_, index) => index) } },
      answer: `[${"-1,".repeat(size / 4)}-1]`,
    },
    {
      name: "defaults for every item of a list",
      schema: { type: "array", items: { properties: defaults(200) } },
      answer: `[${"{},".repeat(size / 10)}{}]`,
    },
    {
      name: "the size of an object, asked for a thousand times",
      schema: { allOf: Array.from({ length: 1000 }, (_, index) => ({ minProperties: index % 2 })) },
      answer: `{${Array.from({ length: size / 10 }, (_, index) => `"n${index}":1`).join(",")}}`,
    },
    {
      name: "a schema that looks for itself in every item",
      schema: { type: "array", contains: { $ref: "#" }, items: { $ref: "#" } },
      answer: `${"[[],".repeat(90)}[]${"]".repeat(90)}`,
    },
    {
      name: "an answer of as many names as fit",
      schema: { type: "object", additionalProperties: { type: "number" } },
      answer: `{${Array.from({ length: size / 8 }, (_, index) => `"n${index}":1`).join(",")}}`,
    },
    {
      name: "an answer of as many lists as fit",
      schema: { type: "array", items: { type: "array" } },
      answer: `[${"[],".repeat(size / 2)}[]]`,
    },
    { name: "an answer of open brackets", schema: { type: "array" }, answer: "[".repeat(size) },
    {
      name: "an answer nested a hundred thousand times",
      schema: {},
      answer: "[".repeat(size / 10) + "]".repeat(size / 10),
    },
    { name: "an answer of blanks before a fence", schema: {}, answer: `${" \n".repeat(size * 0.9)}x` },
    { name: "an answer of blanks inside a fence", schema: {}, answer: `\`\`\`json${" \n".repeat(size * 0.9)}x` },
    { name: "an answer of closing fences", schema: {}, answer: `\`\`\`json\n${"\n```".repeat(size / 4)}x` },
  ];
}

function text(rules: object): object {
  return { type: "string", ...rules };
}

function doubling(link: (next: object) => object): Record<string, object> {
  const links = Array.from({ length: 26 }, (_, index): [string, object] => [
    `d${index}`,
    link({ $ref: `#/$defs/d${index + 1}` }),
  ]);
  return Object.fromEntries([...links, ["d26", { type: "number" }]]);
}

function defaults(count: number): Record<string, object> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`d${index}`, { default: [[index]] }]));
}

function nested(levels: number, wrap: (inner: object) => object): object {
  let schema: object = { type: "number" };
  for (let level = 0; level < levels; level++) schema = wrap(schema);
  return schema;
}

function distinctCharacters(count: number): string {
  return Array.from({ length: count }, (_, index) => String.fromCodePoint(0x4e00 + 2 * index)).join("");
}
