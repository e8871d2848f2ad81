import assert from "node:assert/strict";
import { test } from "node:test";
import { truncateLine, truncateMiddle } from "../../src/tools/truncate.ts";

test("B3.1: a long output keeps its head and its tail and says how much is missing between them", () => {
  assert.equal(truncateMiddle("short 😀", 20), "short 😀");
  assert.equal(truncateMiddle(`head${"x".repeat(100)}tail`, 8), "head\n[cut: 100 of 108 bytes are missing here]\ntail");
});

test("B3.1: neither side of the cut has half a character", () => {
  assert.equal(truncateMiddle("ab👩‍👩‍👧cd", 10), "ab\n[cut: 18 of 22 bytes are missing here]\ncd");
  assert.equal(truncateMiddle("a\ud83d", 9), "a\ufffd");
});

test("a line is cut in place", () => {
  assert.equal(truncateLine("über", 5), "über");
  assert.equal(truncateLine("über", 4), "übe… [1 more bytes]");
  assert.equal(truncateLine("über", 4, 1000), "übe… [996 more bytes]");
});
