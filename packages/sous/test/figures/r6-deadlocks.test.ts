/** R6 finds faults that are planted in the sources. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../support/mutation.ts";
import { runDeadlockSearch } from "./r6-deadlocks.ts";

suite("R6: the search finds", () => {
  const mutations: [what: string, mutation: Mutation][] = [
    ["a run that keeps its slot while it waits for a child", { guard: "parent-gives-its-slot-back" }],
    ["a model call that does not give its slot back", { guard: "give-the-call-back" }],
    ["a gate that forgets which runs wait to start", { guard: "tell-of-a-free-slot" }],
  ];
  for (const [what, mutation] of mutations) {
    test(`R6: the search finds ${what}`, async () => {
      const { createRuntime } = await importWithout<typeof import("../../src/runtime.ts")>(
        import.meta.resolve("../../src/runtime.ts"),
        mutation,
      );
      const figure = await runDeadlockSearch({ seed: 1, count: 16, createRuntime });
      assert.ok(figure.deadlocks > 0);
    });
  }
});
