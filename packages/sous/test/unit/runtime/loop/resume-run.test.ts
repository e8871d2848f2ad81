/** The cost of a question that the end of a process left open. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { notYetCharged, unheardAnswer } from "../../../../src/runtime/loop/resume-run.ts";

const ASKED = { promptTokens: 1_000, reserved: 3_000 };

test("G5, H1: tokens that the books have counted since the restart are not counted again, and an unknown price stays unknown", () => {
  const heard = unheardAnswer(ASKED, { input: 1, output: 2 });
  assert.deepEqual([heard.spent.totalTokens, heard.costUsd], [3_000, 0.005]);
  assert.deepEqual(notYetCharged(ASKED, heard), { tokens: 3_000, costUsd: 0.005 });
  const charged = { tokens: 2_500, costUsd: 0.004 };
  assert.deepEqual(notYetCharged({ ...ASKED, charged }, { ...heard, costUsd: 0.0045 }), {
    tokens: 500,
    costUsd: 0.0045 - 0.004,
  });
  const unpriced = unheardAnswer(ASKED, undefined);
  assert.equal(unpriced.costUsd, null);
  assert.deepEqual(notYetCharged({ ...ASKED, charged }, unpriced), { tokens: 500, costUsd: null });
});
