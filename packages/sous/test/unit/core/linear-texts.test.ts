/** Loops that took the place of slow expressions give what the expressions gave. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { pausesFor } from "../../../src/app/tools/pauses.ts";
import { NO_RULES } from "../../../src/app/tools/walk.ts";
import { spaceAtEnd, trimEndOf } from "../../../src/core/truncate.ts";

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
