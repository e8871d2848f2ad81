/** R15 finds faults that are planted in the ledger. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../support/mutation.ts";
import { measureFanOuts, runMixes } from "./r15-fan-outs.ts";
import { type LedgerModules, REAL_LEDGER } from "./r15-tree.ts";

const FIXED_SEED = 1;

type Ledger = typeof import("../../src/runtime/budget/ledger.ts");

/**
 * The rule that is removed, and what the simulation then says. Some faults show in one of hundreds of trees: the search begins
 * at a seed that shows it, and goes on from there.
 */
const PLANTED: readonly [what: string, notices: RegExp, mutation: Mutation, firstSeed?: number][] = [
  [
    "serves those who asked first before those who started first",
    /overtook|refused before/,
    { guard: "first-started-first-served" },
  ],
  [
    "lets others overtake where an earlier one is short",
    /overtook/,
    { guard: "no-overtaking", replace: "const open = free;" },
    333,
  ],
  [
    "lowers a cap although it could wait for the whole",
    /lowered while calls were in flight/,
    { guard: "whole-before-less", replace: "return need.least;" },
  ],
  ["never lowers a cap", /could have had less/, { guard: "whole-before-less", replace: "return need.enough;" }],
  ["takes a parent whose child waits to start for one that moves", /hang/, { guard: "parent-is-awaited" }],
  [
    "refuses live runs before children that wait to start",
    /refused before/,
    {
      guard: "refuse-the-last",
      replace: "return this.#live.findLast(draws) ?? this.#starters.findLast(draws);",
    },
    18,
  ],
  [
    "refuses the first of the live runs",
    /refused before/,
    { guard: "refuse-the-last", replace: "return this.#starters.findLast(draws) ?? this.#live.find(draws);" },
  ],
  [
    "refuses while others move",
    /refused while others move/,
    { guard: "refuse-when-stuck", replace: "const last = this.#lastOn(meter);" },
  ],
  [
    "refuses at once what is only reserved now",
    /refused while others move/,
    { guard: "never-enough", replace: "const within = meter.free;" },
  ],
  [
    "keeps more for last words than the answer gave back",
    /overspent/,
    { guard: "reserve-within-rest", replace: "this.#holder.giveBack(this.amount, spent, wanted);" },
  ],
  [
    "compares a share with what is free at that moment",
    /share was refused although/,
    { guard: "share-within-limit", replace: "return limit > meter.free;" },
    63,
  ],
  [
    "starts a child without a slot",
    /slots are taken/,
    {
      guard: "start-needs-a-slot",
      replace: "for (const waiter of [...this.#starters]) if (!this.#isHeldUp(waiter)) this.#tryToServe(waiter);",
    },
  ],
  [
    "takes a run for one that waits when one of its calls does",
    /refused while others move/,
    { guard: "run-moves", replace: "const moves = this.#isLive && !this.#isAsking && waiting === 0;" },
    180,
  ],
  ["does not look again when a run begins to wait", /hang/, { guard: "serve-when-a-run-waits" }, 63],
];

// Before the first test: the hooks the test runner sets on promises would make the simulation three times as slow.
const withFaults = new Map<string, readonly string[]>();
for (const [what, , mutation, seed = FIXED_SEED] of PLANTED) {
  const modules = await withFault(mutation);
  withFaults.set(what, (await runMixes({ seed, count: 1_000, modules })).broken);
}

suite("R15 notices a ledger that", () => {
  for (const [what, notices] of PLANTED) {
    test(`R15 notices a ledger that ${what}`, () => {
      const broken = withFaults.get(what) ?? [];
      assert.ok(
        broken.some((problem) => notices.test(problem)),
        broken.slice(0, 5).join("\n") || "nothing is broken",
      );
    });
  }

  test("R15 notices a ledger that holds last words up behind a run that is short", async () => {
    const mutation = { guard: "last-words-overtake", replace: "if (need === undefined) return false;" };
    const modules = await withFault(mutation);
    const { delivered } = await measureFanOuts({ seed: FIXED_SEED, count: 2, modules });
    assert.ok(delivered < 0.8, `${delivered}`);
  });

  test("R15 notices a ledger that keeps nothing for last words", async () => {
    const replace = "this.#holder.giveBack(this.amount, spent, NO_AMOUNT);";
    const modules = await withFault({ guard: "reserve-within-rest", replace });
    const { delivered } = await measureFanOuts({ seed: FIXED_SEED, count: 2, modules });
    assert.ok(delivered < 0.8, `${delivered}`);
  });
});

async function withFault(mutation: Mutation): Promise<LedgerModules> {
  const { openLedger } = await importWithout<Ledger>(
    import.meta.resolve("../../src/runtime/budget/ledger.ts"),
    mutation,
  );
  return { ...REAL_LEDGER, openLedger };
}
