/** R1 with crashes, in small: fixed seeds and a fresh one. The whole figure is `npm run soak`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../mutation.ts";
import { type CrashFigure, runCrashSchedules } from "./r1-crashes.ts";

const FIXED = 30;
const FRESH = 10;

suite("R1: a tree whose processes die continues, with nothing lost, nothing done twice and no hang", () => {
  test(`R1: a tree whose processes die continues, with nothing lost, nothing done twice and no hang, in ${FIXED} schedules of fixed seeds`, async (context) => {
    const figure = await runCrashSchedules({ seed: 1, count: FIXED });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken.slice(0, 5), []);
    assert.equal(figure.hangs, 0);
    // The figure means something only if processes died in the middle of trees.
    assert.ok(figure.crashes > FIXED && figure.resumedRuns > FIXED, inWords(figure));
  });

  test("R1: a question that was open when its process died ends with its call, also when the call is not asked about again", async () => {
    const { broken } = await runCrashSchedules({ seed: 559_582_591, count: 1 });
    assert.deepEqual(broken, []);
  });

  test(`R1: a tree whose processes die continues, with nothing lost, nothing done twice and no hang, in ${FRESH} schedules of a fresh seed`, async (context) => {
    const figure = await runCrashSchedules({ seed: Math.floor(Math.random() * 2 ** 27), count: FRESH });
    context.diagnostic(inWords(figure));
    assert.deepEqual(figure.broken, []);
  });
});

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

function inWords(figure: CrashFigure): string {
  const { seed, schedules, crashes, resumedRuns, events, faults, broken, hangs, milliseconds } = figure;
  return `R1 with crashes, seeds ${seed}–${seed + schedules - 1}: ${schedules} schedules, ${crashes} processes died, ${resumedRuns} runs went on, ${events} events, ${faults} faults; ${broken.length} broken, ${hangs} hangs; ${milliseconds} ms`;
}
