/** Loops that took the place of slow expressions give what the expressions gave. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { insideFence } from "../../src/core/fenced.ts";
import { spaceAtEnd, trimEndOf } from "../../src/core/trim-end.ts";
import { NO_RULES } from "../../src/tools/gitignore.ts";
import { pausesFor } from "../../src/tools/pauses.ts";

const pauses = pausesFor(new AbortController().signal);

function texts(...units: string[]): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...units), maxLength: 12 });
}

test("trimEndOf and spaceAtEnd cut what an expression with $ would cut", () => {
  fc.assert(
    fc.property(texts("a", ".", " ", "\n", "\u00a0", "\ufeff"), (text) => {
      assert.equal(trimEndOf(text, ". "), text.replace(/[. ]+$/, ""));
      assert.equal(spaceAtEnd(text), /\s*$/.exec(text)?.[0]);
    }),
  );
});

test("insideFence gives the JSON that the expression for a fence gave", () => {
  const fenced = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/;
  fc.assert(
    fc.property(texts("```", "json", "\n", " ", "1", "{}"), (text) => {
      assert.deepEqual(parsed(insideFence(text) ?? text), parsed(fenced.exec(text)?.[1] ?? text));
    }),
    { numRuns: 2000 },
  );
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return "not JSON";
  }
}

test("blanks at the end of a line of an ignore file count as they did", async () => {
  await fc.assert(
    fc.asyncProperty(texts("a", " ", "\\", "b"), texts("a", " ", "b"), async (line, name) => {
      fc.pre(name !== "");
      const before = line.replace(/(?<!\\) +$/, "");
      const [given, cut] = await Promise.all(
        [line, before].map((text) => NO_RULES.within(".", text).ignores(name, false, pauses)),
      );
      assert.equal(given, cut);
    }),
  );
});
