/** Two lists beside each other. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { align, SAME } from "../../../../src/storage/replay/diff-runs.ts";

/** Equal letters are the same, a letter and its capital are alike, all else never stands in one row. */
function rows(left: string, right: string): string[] {
  const likeness = (one: number, other: number) => {
    if (left[one] === right[other]) return SAME;
    return left[one]?.toLowerCase() === right[other]?.toLowerCase() ? 1 : 0;
  };
  return align(left.length, right.length, likeness).map(
    (pair) => `${pair.left === undefined ? "-" : left[pair.left]}${pair.right === undefined ? "-" : right[pair.right]}`,
  );
}

suite("two lists beside each other", () => {
  const cases: [left: string, right: string, expected: string][] = [
    ["", "", ""],
    ["abc", "abc", "aa bb cc"],
    ["", "ab", "-a -b"],
    ["ab", "", "a- b-"],
    ["abc", "ac", "aa b- cc"],
    ["ac", "abc", "aa -b cc"],
    ["axc", "ayc", "aa x- -y cc"],
    ["aBc", "abc", "aa Bb cc"],
    ["ab", "ba", "a- bb -a"],
    // The sum counts: two that are the same rather than one that is alike.
    ["xAyz", "ayzw", "x- Aa yy zz -w"],
    ["aab", "ab", "aa a- bb"],
  ];
  for (const [left, right, expected] of cases) {
    test(`two lists are aligned: "${left}" and "${right}"`, () => {
      assert.equal(rows(left, right).join(" "), expected);
    });
  }

  test("two lists are paired as they stand when they are too long for a table", () => {
    const [xs, ys] = ["x".repeat(999), "y".repeat(999)];
    // A thousand by a thousand is a table: what belongs together is found wherever it stands.
    assert.ok(rows(`b${xs}`, `${ys}b`).includes("bb"));
    assert.ok(!rows(`b${xs}`, `${ys}yb`).includes("bb"));
    const paired = rows(`pA${xs}`, `ra${ys}`);
    assert.deepEqual([paired.slice(0, 5), paired.length], [["p-", "-r", "Aa", "x-", "-y"], 2 * 1_001 - 1]);
  });

  test("two lists of very different length leave over what the longer one has", () => {
    const long = "z".repeat(1_100);
    assert.deepEqual(rows(`${long}q`, `${"w".repeat(1_000)}`).slice(-2), ["z-", "q-"]);
    assert.deepEqual(rows(`${"w".repeat(1_000)}`, `${long}q`).slice(-2), ["-z", "-q"]);
  });
});
