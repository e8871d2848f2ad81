/** Calls of sed that are understood by their words. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { scriptProblem } from "../../../../src/runtime/rights/sed-script.ts";

test("B5.3: sed that only tells its version or its help is understood, and nothing beside them", () => {
  const problem = (...texts: string[]) => scriptProblem(texts.map((text) => ({ text, isOpen: false })));
  assert.equal(problem("--version"), undefined);
  assert.equal(problem("--help"), undefined);
  assert.equal(problem("--version", "s/a/b/"), "has an option that is not known: --version");
  assert.equal(problem("--debug"), "has an option that is not known: --debug");
});
