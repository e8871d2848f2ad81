/** R9, H3, B1.2: no path that makes or revives a child gives it more than its parent may pass on. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../mutation.ts";
import { runForgedCalls } from "./r9-forged-calls.ts";
import { type RightsFigure, runRightsTrees } from "./r9-rights.ts";
import { runRightsTreesAside } from "./r9-worker.ts";

const FIXED = 2_500;
const FRESH = 500;

suite("R9: no widening", () => {
  // In one thread, which loads the sources once.
  test(`H3: in ${FIXED} trees of fixed seeds and ${FRESH} of a fresh one`, async (context) => {
    const figures = await runRightsTreesAside([
      { seed: 1, count: FIXED },
      { seed: Math.floor(Math.random() * 2 ** 31), count: FRESH },
    ]);
    assert.equal(figures.length, 2);
    for (const figure of figures) {
      context.diagnostic(inWords(figure));
      assert.deepEqual(figure.examples, []);
      assert.deepEqual([figure.widenings, figure.losses], [0, 0]);
    }
    // Of the fixed seeds alone: how a fresh one mixes its trees is not known before.
    const [figure] = figures;
    assert.ok(figure !== undefined);
    for (const made of [figure.plain, figure.defined, figure.asked, figure.forked, figure.revived, figure.refused]) {
      assert.ok(made > figure.trees / 100, inWords(figure));
    }
  });

  for (const [what, seed, count] of [
    ["fixed seeds", 1, 80],
    ["a fresh seed", Math.floor(Math.random() * 2 ** 31), 20],
  ] as const) {
    test(`B1.3: in ${count} real trees of ${what} every call beyond the rights is refused, recorded and not run`, async (context) => {
      const figure = await runForgedCalls({ seed, count });
      const { runs, calls, executed, refused, milliseconds } = figure;
      context.diagnostic(
        `R9, seeds ${seed}–${seed + count - 1}: ${runs} runs, ${calls} calls, ${executed} ran, ${refused} refused; ${milliseconds} ms`,
      );
      assert.deepEqual(figure.problems.slice(0, 5), []);
      assert.ok(what !== "fixed seeds" || (executed > 0 && refused > 0));
    });
  }
});

suite("R9: the search finds", () => {
  const mutations: [what: string, mutation: Mutation][] = [
    [
      "a child that has what its definition declares",
      {
        guard: "narrow-tools",
        replace:
          "const use = keepOnly(declared.tools === undefined ? passable : new Set(declared.tools), asked.tools);",
      },
    ],
    [
      "a call that is not heeded",
      { guard: "narrow-tools", replace: "const use = keepOnly(passable, declared.tools);" },
    ],
    ["a deny that is forgotten", { guard: "narrow-deny", replace: "const deny = parent.deny;" }],
    ["a follow-up that keeps what its parent has lost", { guard: "narrow-follow-up", replace: "use: earlier.use," }],
    [
      "a list of tools that leaves the right to have children",
      {
        guard: "narrow-spawn",
        replace: "return { use, delegate, deny, spawn: parent.spawn && declared.spawn !== false };",
      },
    ],
    [
      "a definition without children that leaves the right to have some",
      {
        guard: "narrow-spawn",
        replace: "return { use, delegate, deny, spawn: parent.spawn && asked.tools === undefined };",
      },
    ],
  ];
  for (const [what, mutation] of mutations) {
    test(`R9: the search finds ${what}`, async () => {
      const { Profiles } = await importWithout<typeof import("../../src/tree/profiles.ts")>(
        import.meta.resolve("../../src/tree/profiles.ts"),
        mutation,
      );
      const figure = await runRightsTrees({ seed: 1, count: 300, Profiles });
      assert.ok(figure.widenings > 0);
    });
  }
});

test("R9: the forged calls find a dispatcher that heeds only what is shown", async () => {
  const { createRuntime } = await importWithout<typeof import("../../src/runtime.ts")>(
    import.meta.resolve("../../src/runtime.ts"),
    {
      guard: "rights-at-dispatch",
      replace: 'return tool.category !== "subagent" || who.depth < tree.maxDepth;',
    },
  );
  const { problems } = await runForgedCalls({ seed: 1, count: 60, createRuntime });
  assert.ok(problems.length > 0);
});

function inWords(figure: RightsFigure): string {
  const { seed, trees, plain, defined, asked, forked, revived, refused, widenings, losses, milliseconds } = figure;
  return `R9, seeds ${seed}–${seed + trees - 1}: ${plain} plain, ${defined} defined, ${asked} asked, ${forked} forked, ${revived} revived, ${refused} refused; ${widenings} widenings, ${losses} losses; ${milliseconds} ms`;
}
