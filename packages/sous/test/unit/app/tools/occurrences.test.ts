import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { occurrencesOf } from "../../../../src/app/tools/edit-nearest.ts";

test("occurrencesOf finds what indexOf finds at every place, for short and for long texts", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 });
  fc.assert(
    fc.property(letters, letters, fc.integer({ min: 1, max: 80 }), (part, rest, times) => {
      const sought = part.repeat(times);
      const text = rest + sought + part + sought + rest;
      const expected: number[] = [];
      for (let at = 0; sought !== "" && at <= text.length; at++) if (text.startsWith(sought, at)) expected.push(at);
      assert.deepEqual(occurrencesOf(text, sought), expected);
    }),
  );
});
