/** B6.4: the test of targets finds a fault that is planted in the sources. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { targetProblems } from "../support/attacks/target-problems.ts";
import { importWithout } from "../support/mutation.ts";

test("B6.4: the test of targets finds an external agent whose questions are decided by rules alone", async () => {
  const mutant = await importWithout<typeof import("../../src/runtime.ts")>(
    import.meta.resolve("../../src/runtime.ts"),
    { guard: "external-target", replace: "const problem = undefined;" },
  );
  const problems = (await targetProblems(mutant.createRuntime)).join("\n");
  assert.match(problems, /a yes to read_file \{"path":"link"\}/);
  assert.match(problems, /a yes to write_file \{"path":"\.git\/hooks\/pre-commit"/);
  assert.match(problems, /a yes to terminal \{"command":"ls","cwd":"folder"\}/);
});
