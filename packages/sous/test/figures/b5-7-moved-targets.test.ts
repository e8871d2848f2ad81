/** B5.7: the test of moved targets finds faults that are planted in the sources. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { movedProblems } from "../support/attacks/moved-problems.ts";
import { importWithout, type Mutation } from "../support/mutation.ts";

suite("B5.7: the test of moved targets finds", () => {
  const mutations: [what: string, mutation: Mutation, problems: string[]][] = [
    [
      "an answer that holds for the target of that moment",
      { guard: "answered-target", replace: "const isOther = false;" },
      [
        "wrote to a target that had moved while the person was asked",
        "wrote to a target that had moved while the answer was stored",
      ],
    ],
    [
      "an answer of a later process that holds for a target that moves while it is stored",
      { guard: "kept-target", replace: "const isOther = false;" },
      ["wrote to a target that had moved while a later process stored the answer"],
    ],
  ];
  for (const [what, mutation, problems] of mutations) {
    test(`B5.7: the test of moved targets finds ${what}`, async () => {
      const mutant = await importWithout<typeof import("../../src/runtime.ts")>(
        import.meta.resolve("../../src/runtime.ts"),
        mutation,
      );
      assert.deepEqual(await movedProblems(mutant.createRuntime), problems);
    });
  }
});
