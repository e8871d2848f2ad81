/** The place where two plain values differ first. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { firstDifference } from "../../../../src/storage/replay/first-difference.ts";

test("a list and a map are different, whatever is in them", () => {
  assert.deepEqual(firstDifference({ a: [] }, { a: {} }), { at: "a", expected: [], found: {} });
  assert.deepEqual(firstDifference({ 0: 1 }, [1]), { at: "", expected: { 0: 1 }, found: [1] });
});

test("the first place of several is named, in lists by its number", () => {
  assert.equal(firstDifference({ a: [1, { b: 2 }], c: 1 }, { a: [1, { b: 3 }], c: 2 })?.at, "a[1].b");
  assert.deepEqual(firstDifference([1], [1, 2]), { at: "[1]", expected: undefined, found: 2 });
  assert.equal(firstDifference({ a: undefined }, {}), undefined);
});

test("sums that differ in their last digits are the same, and whole numbers are not", () => {
  assert.equal(firstDifference(0.1 + 0.2, 0.3), undefined);
  assert.equal(firstDifference(0.1, 0.2)?.expected, 0.1);
  assert.equal(firstDifference(1e12, 1e12 + 1)?.found, 1e12 + 1);
});
