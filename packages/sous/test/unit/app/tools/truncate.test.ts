import assert from "node:assert/strict";
import { test } from "node:test";
import { truncateLine } from "../../../../src/app/tools/line-scan.ts";

test("a line is cut in place", () => {
  assert.equal(truncateLine("über", 5), "über");
  assert.equal(truncateLine("über", 4), "übe… [1 more bytes]");
  assert.equal(truncateLine("über", 4, 1000), "übe… [996 more bytes]");
});
