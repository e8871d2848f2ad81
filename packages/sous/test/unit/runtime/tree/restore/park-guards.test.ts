/** An answer counts once, for what the person has seen, and is stored before anything follows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createRuntime } from "../../../../../src/runtime.ts";
import { answerProblems } from "../../../../support/runtime/tree/restore/answer-problems.ts";

// `npm run soak -- G7` plants faults for it.
test("G7: an answer is stored before the tool runs, and holds for the input and the definition that were asked about", async () => {
  assert.deepEqual(await answerProblems(createRuntime), []);
});
