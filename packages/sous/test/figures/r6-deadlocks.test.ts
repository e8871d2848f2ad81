/** R6: no tree waits for itself, whatever the limits. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../mutation.ts";
import { type DeadlockFigure, runDeadlockSearch } from "./r6-deadlocks.ts";

const FIXED = 60;
const FRESH = 10;

suite("R6: no deadlock at depth 8, width 3, limits 1, 2, 4, 16", () => {
  test(`H5: in ${FIXED} trees of fixed seeds`, async (context) => {
    const figure = await runDeadlockSearch({ seed: 1, count: FIXED });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken.slice(0, 5), []);
    assert.deepEqual([figure.deadlocks, figure.overspent], [0, 0]);
    // A tree that was cut short says nothing about the depth.
    assert.ok(figure.reachedBottom > FIXED / 4, inWords(figure));
  });

  test(`H5: in ${FRESH} trees of a fresh seed`, async (context) => {
    const figure = await runDeadlockSearch({ seed: Math.floor(Math.random() * 2 ** 31), count: FRESH });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken, []);
  });
});

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

function inWords({ seed, trees, runs, reachedBottom, deadlocks, broken, milliseconds }: DeadlockFigure): string {
  return `R6, seeds ${seed}–${seed + trees - 1}: ${trees} trees, ${runs} runs, ${reachedBottom} trees to depth 8; ${deadlocks} deadlocks, ${broken.length} broken; ${milliseconds} ms`;
}
