/** R6: no tree waits for itself, whatever the limits. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout } from "../mutation.ts";
import { type DeadlockFigure, runDeadlockSearch } from "./r6-deadlocks.ts";

const FIXED = 350;
const FRESH = 50;

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
  const source = (file: string) => import.meta.resolve(`../../src/${file}`);
  const mutations: [what: string, file: string, find: string, replace: string][] = [
    ["a run that keeps its slot while it waits for a child", "tree/spawn.ts", "slot?.rest();", ""],
    ["a model call that does not give its slot back", "model/governor.ts", "this.#running -= 1;", ""],
    ["a gate that forgets who waits to start", "budget/run-slots.ts", "this.onFree();", ""],
  ];
  for (const [what, file, find, replace] of mutations) {
    test(what, async () => {
      const mutation = { in: source(file), find, replace };
      const { createRuntime } = await importWithout<typeof import("../../src/runtime.ts")>(
        source("runtime.ts"),
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
