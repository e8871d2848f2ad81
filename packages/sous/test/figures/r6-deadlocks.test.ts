/** R6: no tree waits for itself, whatever the limits. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout } from "../mutation.ts";
import { type DeadlockFigure, runDeadlockSearch } from "./r6-deadlocks.ts";

const FIXED = 900;
const FRESH = 100;

suite("R6: no deadlock at depth 8, width 3, limits 1, 2, 4, 16", () => {
  test(`in ${FIXED} trees of fixed seeds`, async (context) => {
    const figure = await runDeadlockSearch({ seed: 1, count: FIXED });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken.slice(0, 5), []);
    assert.equal(figure.deadlocks, 0);
    assert.equal(figure.deepest, 8);
  });

  test(`in ${FRESH} trees of a fresh seed`, async (context) => {
    const figure = await runDeadlockSearch({ seed: Math.floor(Math.random() * 2 ** 31), count: FRESH });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken, []);
  });

  test("H5: the search finds a runtime that keeps its slot while it waits for a child", async () => {
    const { createRuntime } = await importWithout<typeof import("../../src/runtime.ts")>(
      import.meta.resolve("../../src/runtime.ts"),
      { in: import.meta.resolve("../../src/tree.ts"), find: "run.slot.rest();", replace: "" },
    );
    const figure = await runDeadlockSearch({ seed: 1, count: 20, createRuntime });
    assert.ok(figure.deadlocks > 0);
  });
});

function inWords({ seed, trees, runs, deepest, deadlocks, broken, milliseconds }: DeadlockFigure): string {
  return `R6, seeds ${seed}–${seed + trees - 1}: ${trees} trees, ${runs} runs, depth ${deepest}; ${deadlocks} deadlocks, ${broken.length} broken; ${milliseconds} ms`;
}
