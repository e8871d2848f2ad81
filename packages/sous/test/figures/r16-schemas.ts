/** JSON Schemas and answers built to be slow to check: for R16 and for the tests of `schema/`. */

export type HostileSchema = {
  readonly name: string;
  readonly schema: object;
  /** The text of the model's answer. */
  readonly answer: string;
};

const MEGABYTE = 1_000_000;
const longRunOfA = JSON.stringify(`${"a".repeat(MEGABYTE)}!`);

export const HOSTILE_SCHEMAS: HostileSchema[] = [
  { name: "a pattern with nested repetitions", schema: text({ pattern: "^(a+)+$" }), answer: longRunOfA },
  { name: "a pattern with choices that overlap", schema: text({ pattern: "^(a|aa|a?)+$" }), answer: longRunOfA },
  { name: "a pattern of many repetitions in a row", schema: text({ pattern: "a*a*a*a*a*a*a*b$" }), answer: longRunOfA },
  {
    name: "a pattern that is large when it is written out",
    schema: text({ pattern: "(.?){900}b$" }),
    answer: longRunOfA,
  },
  {
    name: "a pattern with a large set, on text outside ASCII",
    schema: text({ pattern: `(x|[${distinctCharacters(400)}]){1,400}!$` }),
    answer: JSON.stringify("\u{10400}".repeat(MEGABYTE / 4)),
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
    answer: JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`name${index}`, index]))),
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
    name: "three hundred thousand items that must be unique",
    schema: { type: "array", uniqueItems: true },
    answer: JSON.stringify(Array.from({ length: 300_000 }, (_, index) => ({ key: [index] }))),
  },
  {
    name: "items that must be unique at each of ninety levels",
    schema: { type: "array", uniqueItems: true, items: { anyOf: [{ $ref: "#" }, { type: "number" }] } },
    answer: `${"[".repeat(90)}${JSON.stringify(Array.from({ length: 300_000 }, (_, index) => index))}${"]".repeat(90)}`,
  },
  {
    name: "a list of twenty thousand values, for five times as many items",
    schema: { type: "array", items: { enum: Array.from({ length: 20_000 }, (_, index) => [`value ${index}`]) } },
    answer: JSON.stringify(Array.from({ length: 100_000 }, (_, index) => [`value ${20_000 - index}`])),
  },
  {
    name: "a thousand alternatives for each of a hundred thousand items",
    schema: {
      type: "array",
      items: { oneOf: Array.from({ length: 1000 }, (_, index) => ({ type: "string", minLength: index + 5 })) },
    },
    answer: JSON.stringify(Array.from({ length: 100_000 }, () => "abc")),
  },
  {
    name: "a million wrong items",
    schema: { type: "array", items: { type: "string" } },
    answer: `[${"1,".repeat(MEGABYTE)}1]`,
  },
  {
    name: "two hundred thousand names that are not allowed",
    schema: { type: "object", properties: { a: {} }, additionalProperties: false },
    answer: `{${Array.from({ length: 200_000 }, (_, index) => `"n${index}":1`).join(",")}}`,
  },
  {
    name: "an email that does not end",
    schema: text({ format: "email" }),
    answer: JSON.stringify("a@a.".repeat(MEGABYTE / 4)),
  },
  {
    name: "a host name that does not end",
    schema: text({ format: "hostname" }),
    answer: JSON.stringify("a.".repeat(MEGABYTE)),
  },
  {
    name: "an address that does not end",
    schema: text({ format: "uri" }),
    answer: JSON.stringify(`http://${"é".repeat(MEGABYTE)}`),
  },
  {
    name: "a duration that does not end",
    schema: text({ format: "duration" }),
    answer: JSON.stringify(`P${"1".repeat(MEGABYTE)}`),
  },
  {
    name: "an IPv6 address that does not end",
    schema: text({ format: "ipv6" }),
    answer: JSON.stringify(":1".repeat(MEGABYTE)),
  },
  {
    name: "base64 that does not end",
    schema: text({ format: "base64" }),
    answer: JSON.stringify(`${"A".repeat(MEGABYTE)}!`),
  },
  { name: "an answer of open brackets", schema: { type: "array" }, answer: "[".repeat(MEGABYTE) },
  { name: "an answer nested a hundred thousand times", schema: {}, answer: "[".repeat(100_000) + "]".repeat(100_000) },
  { name: "an answer of blanks before a fence", schema: {}, answer: `${" \n".repeat(MEGABYTE)}x` },
  { name: "an answer of blanks inside a fence", schema: {}, answer: `\`\`\`json${" \n".repeat(MEGABYTE)}x` },
  { name: "an answer of closing fences", schema: {}, answer: `\`\`\`json\n${"\n```".repeat(MEGABYTE / 4)}x` },
];

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

function nested(levels: number, wrap: (inner: object) => object): object {
  let schema: object = { type: "number" };
  for (let level = 0; level < levels; level++) schema = wrap(schema);
  return schema;
}

function distinctCharacters(count: number): string {
  return Array.from({ length: count }, (_, index) => String.fromCodePoint(0x4e00 + 2 * index)).join("");
}
