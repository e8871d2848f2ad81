/** The change of a tool as a person reads it: no part of what is new is left out. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { describeChange } from "../../../../src/bridges/mcp/diff.ts";
import type { McpDefinition } from "../../../../src/bridges/mcp/pins.ts";

const definition = (more: Partial<McpDefinition>): McpDefinition => ({
  name: "echo",
  description: "Echoes.",
  inputSchema: { type: "object" },
  sha256: "",
  ...more,
});

const piece = fc.constantFrom(
  "a",
  "b",
  " ",
  "\n",
  "\n\n",
  "- ",
  "+ ",
  "description:\n",
  "x".repeat(199),
  "y".repeat(200),
);
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));

suite("B6.2: the change of a tool is shown whole", () => {
  test("B6.2: a line break is shown that stands where a long line is broken", () => {
    const [one, other] = ["x".repeat(200), "y".repeat(200)];
    for (const [before, after] of [
      [`${one}${other}`, `${one}\n${other}`],
      [`${one}\n${other}`, `${one}${other}`],
      [one, `${one}\n`],
      [`${one}${one}`, `${one}\n\n${one}`],
    ] as const) {
      const shown = describeChange(definition({ description: before }), definition({ description: after }));
      assert.match(shown, /^description:\n(?:[-+] .*\n?)+$/);
    }
  });

  test("B6.2: names that differ behind 80 characters are shown whole", () => {
    const name = "x".repeat(120);
    const shown = describeChange(definition({ name: `${name}a` }), definition({ name: `${name}b` }));
    assert.equal(shown, `name:\n- ${name}a\n+ ${name}b`);
  });

  test("B6.2: whatever changes in a description is in the question", () => {
    const check = (before: string, after: string): void => {
      const shown = describeChange(definition({ description: before }), definition({ description: after }));
      if (before === after) {
        assert.match(shown, /too long to be shown/);
        return;
      }
      assert.match(shown, /^description:\n/);
      const rows = shown.split("\n").slice(1);
      for (const row of rows) assert.match(row, /^[-+] /);
      const added = new Set(rows.filter((row) => row.startsWith("+ ")).map((row) => row.slice(2)));
      const known = new Set(before.split("\n").flatMap(partsOf));
      for (const part of after.split("\n").flatMap(partsOf)) assert.ok(known.has(part) || added.has(part), part);
    };
    fc.assert(fc.property(text, text, check), { numRuns: 1000 });
  });
});

/** A line in parts of 200 letters; the last is shorter. */
function partsOf(line: string): string[] {
  return Array.from({ length: Math.floor(line.length / 200) + 1 }, (_, at) => line.slice(at * 200, (at + 1) * 200));
}
