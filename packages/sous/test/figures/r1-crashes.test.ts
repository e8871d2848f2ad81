/** R1 with crashes finds faults that are planted in the sources. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../support/mutation.ts";
import { runCrashSchedules } from "./r1-crashes.ts";

suite("R1: the figure with crashes finds", () => {
  const mutations: [what: string, mutation: Mutation, problem: RegExp][] = [
    [
      "a call that is made again though its result is kept",
      { guard: "ended-call" },
      /runs again, and its result is kept/,
    ],
    [
      "an unsafe call that is made again",
      { guard: "unsafe-call", replace: "if (isKept) return undefined;" },
      /is unsafe and runs again/,
    ],
    [
      "an unsafe call that is made before it is kept that it should be",
      { guard: "store-before-call" },
      /runs before it is kept that it should/,
    ],
    ["a question on what is not kept", { guard: "store-before-ask" }, /asks on|asks before its start is kept/],
    [
      "a gate that does not know the children of before",
      { guard: "earlier-child", replace: "const earlier = undefined as any;" },
      /is the second child of one call/,
    ],
    [
      "a report that is delivered again",
      { guard: "deliver-once", replace: "if (call?.background !== true || child.isTaken) continue;" },
      /delivers \w+ a second time/,
    ],
    ["an unheard answer that counts for nothing", { guard: "settle-question" }, /forgets a question/],
  ];
  for (const [what, mutation, problem] of mutations) {
    test(`R1: the figure with crashes finds ${what}`, async () => {
      const { createRuntime } = await importWithout<typeof import("../../src/runtime.ts")>(
        import.meta.resolve("../../src/runtime.ts"),
        mutation,
      );
      let found = "";
      for (let seed = 1; seed <= 60 && !problem.test(found); seed += 10) {
        const { broken } = await runCrashSchedules({ seed, count: 10, createRuntime });
        found += broken.flatMap(({ problems }) => problems).join("\n");
      }
      assert.match(found, problem);
    });
  }
});
