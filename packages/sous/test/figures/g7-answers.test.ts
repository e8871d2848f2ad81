/** G7: the test of answers finds faults that are planted in the sources. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../support/mutation.ts";
import { answerProblems } from "../support/runtime/tree/restore/answer-problems.ts";

suite("G7: the test of answers finds", () => {
  const mutations: [what: string, mutation: Mutation, problem: RegExp][] = [
    ["an answer that is not stored first", { guard: "store-before-answer" }, /before the answer was stored/],
    [
      "an answer that holds for another input",
      { guard: "shown-input", replace: "const isSameInput = true;" },
      /input that was not shown/,
    ],
    [
      "an answer that holds for another definition",
      { guard: "shown-definition", replace: "const isSameTool = true;" },
      /definition that was not asked about/,
    ],
    [
      "an answer that holds for another target",
      { guard: "shown-target", replace: "const isSameTarget = true;" },
      /target that was not shown/,
    ],
    [
      "a stored answer that holds for another target",
      { guard: "answered-lead", replace: "const leadsThere = true;" },
      /target that was not shown/,
    ],
    [
      "a stored answer that holds for another definition",
      { guard: "answered-definition", replace: "const isSameTool = true;" },
      /definition that was not asked about/,
    ],
    [
      "a stored answer that holds for another input",
      { guard: "answered-input", replace: "if (isAnswered && isSameTool && leadsThere) return {};" },
      /input that was not shown/,
    ],
  ];
  for (const [what, mutation, problem] of mutations) {
    test(`G7: the test of answers finds ${what}`, async () => {
      const mutant = await importWithout<typeof import("../../src/runtime.ts")>(
        import.meta.resolve("../../src/runtime.ts"),
        mutation,
      );
      assert.match((await answerProblems(mutant.createRuntime)).join("\n"), problem);
    });
  }
});
