/** The reservation of a first call serves the call that is made, and is given back with it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { coveringLease } from "../../../../src/runtime/model/call-need.ts";
import { countedLease } from "../../../support/runtime/lone-run.ts";

const NEED = { promptTokens: 150, outputCap: 1000, minOutput: 512, price: undefined };

test("a reservation that also pays for what was added to the prompt is given back with its call", () => {
  for (const end of ["settle", "dispose"]) {
    const { lease, isOpen } = countedLease(1000);
    const covering = coveringLease({ lease, promptTokens: 100 }, NEED) ?? assert.fail("it covers the call");
    assert.deepEqual([covering.outputCap, isOpen()], [950, true]);
    if (end === "settle") covering.settle({ tokens: 200, costUsd: null });
    else covering[Symbol.dispose]();
    assert.equal(isOpen(), false, end);
  }
});
