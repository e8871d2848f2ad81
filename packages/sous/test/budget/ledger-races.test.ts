/** R4: siblings who race for a budget neither overspend it nor lose any of it. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { drawOn } from "../../src/budget/shared-account.ts";
import { type RaceFigures, runLedgerRaces } from "../figures/r4-races.ts";
import { sharedLedgers } from "../figures/r4-shared.ts";
import { importWithout, type Mutation } from "../mutation.ts";

const FIXED_SEED = 4;
const RACES = 800;
const WIDTH = 64;

/** Fewer than on the ledger alone, because each step goes through two sets of books. */
const SHARED_RACES = 250;

type Ledger = typeof import("../../src/budget/ledger.ts");
type SharedAccount = typeof import("../../src/budget/shared-account.ts");
type SharedBudgets = typeof import("../../src/store/shared-budget.ts");

// Before the first test: the hooks the test runner sets on promises would make the races three times as slow.
const raced: RaceFigures[] = [];
for (const seed of [FIXED_SEED, Math.floor(Math.random() * 2 ** 31)]) {
  raced.push(await runLedgerRaces({ seed, races: RACES, width: WIDTH }));
}

const racedOnShared = await runLedgerRaces({
  seed: Math.floor(Math.random() * 2 ** 31),
  races: SHARED_RACES,
  width: WIDTH,
  openLedger: sharedLedgers(drawOn),
});

for (const figures of raced) {
  test(`R4: ${RACES} races of ${WIDTH} neither overspend, leak, hang nor refuse too early (seed ${figures.seed})`, (t) => {
    t.diagnostic(`R4 ${JSON.stringify(figures)}`);
    assert.deepEqual(faultsOf(figures), { overspent: 0, leaked: 0, hung: 0, wrongRefusals: 0 });
    // Races in which nobody waits, is refused or stopped would show nothing.
    for (const kind of ["granted", "waited", "refused", "cancelled", "lastWords"] as const) {
      assert.ok(figures[kind] > RACES, `${kind}: ${figures[kind]}`);
    }
  });
}

suite("R4 notices a ledger that", () => {
  const ledger = import.meta.resolve("../../src/budget/ledger.ts");
  const funds = import.meta.resolve("../../src/budget/funds.ts");
  const mutations: [what: string, notices: keyof RaceFigures, mutation: Mutation][] = [
    [
      "asks only its own limit and not those above",
      "overspent",
      {
        find: "for (const meter of this.meters) {\n      const available",
        replace: "for (const meter of this.meters.slice(-1)) {\n      const available",
        in: funds,
      },
    ],
    [
      "does not count what is in flight",
      "overspent",
      {
        find: "return this.limit - this.spent - this.inFlight - this.kept;",
        replace: "return this.limit - this.spent - this.kept;",
        in: import.meta.resolve("../../src/budget/meter.ts"),
      },
    ],
    [
      "does not give back what a call left over",
      "leaked",
      {
        find: "meter.inFlight -= isTokens ? reserved.tokens : reserved.nanoUsd;",
        replace: "meter.inFlight -= isTokens ? spentTokens : spentNanoUsd;",
        in: funds,
      },
    ],
    [
      "counts a lease twice when it is settled and disposed",
      "leaked",
      {
        find: "[Symbol.dispose](): void {\n    if (!this.#isOpen) return;",
        replace: "[Symbol.dispose](): void {",
        in: import.meta.resolve("../../src/budget/call-lease.ts"),
      },
    ],
    [
      "forgets those who wait when a call ends",
      "hung",
      {
        find: "    this.serve();\n  }\n\n  /** Changes what is kept",
        replace: "  }\n\n  /** Changes what is kept",
        in: funds,
      },
    ],
    [
      "refuses instead of waiting",
      "wrongRefusals",
      {
        find: "isShort(meter.unit, meter.reachable, need)",
        replace: "isShort(meter.unit, meter.free, need)",
        in: funds,
      },
    ],
  ];
  for (const [what, notices, mutation] of mutations) {
    test(what, async () => {
      const mutant = await importWithout<Ledger>(ledger, mutation);
      const figures = await runLedgerRaces({
        seed: FIXED_SEED,
        races: 100,
        width: WIDTH,
        openLedger: mutant.openLedger,
      });
      assert.ok(figures[notices] > 0, JSON.stringify(figures));
    });
  }
});

test(`R4, H1: ${SHARED_RACES} races for a shared budget neither overspend, leak, hang nor refuse too early`, (t) => {
  t.diagnostic(`R4 ${JSON.stringify(racedOnShared)}`);
  assert.deepEqual(faultsOf(racedOnShared), { overspent: 0, leaked: 0, hung: 0, wrongRefusals: 0 });
  for (const kind of ["granted", "waited", "refused", "cancelled", "lastWords"] as const) {
    assert.ok(racedOnShared[kind] > SHARED_RACES, `${kind}: ${racedOnShared[kind]}`);
  }
});

suite("R4 notices an account on a shared budget that", () => {
  const account = import.meta.resolve("../../src/budget/shared-account.ts");
  const line = import.meta.resolve("../../src/budget/purse-line.ts");
  const lastWords = import.meta.resolve("../../src/budget/shared-last-words.ts");
  const mutations: [what: string, notices: keyof RaceFigures, mutation: Mutation][] = [
    [
      "keeps its own lease when the purse refuses",
      "leaked",
      { find: "own[Symbol.dispose]();\n      throw error;", replace: "throw error;", in: account },
    ],
    ["wakes nobody when a call ends", "hung", { find: "    this.#wake?.();\n", replace: "", in: line }],
    [
      "forgets what it was granted when the call was stopped meanwhile",
      "hung",
      {
        find: 'if (reply.kind === "granted" && !isThere) this.settle(reply.leaseId, NO_AMOUNT, waiter.subject.clock);',
        replace: "",
        in: line,
      },
    ],
    [
      "keeps last words in its own ledger alone",
      "overspent",
      {
        find: "need: leastNeed(need), instead: this.#leaseId }",
        replace: "need: leastNeed({ ...need, promptTokens: 0 }), instead: this.#leaseId }",
        in: lastWords,
      },
    ],
  ];
  for (const [what, notices, mutation] of mutations) {
    test(what, async () => {
      const { drawOn: mutant } = await importWithout<SharedAccount>(account, mutation);
      const options = { seed: FIXED_SEED, races: 100, width: WIDTH, openLedger: sharedLedgers(mutant) };
      const figures = await runLedgerRaces(options);
      assert.ok(figures[notices] > 0, JSON.stringify(figures));
    });
  }

  test("does not give back what a call had reserved", async () => {
    const { openSharedBudget } = await importWithout<SharedBudgets>(
      import.meta.resolve("../../src/store/shared-budget.ts"),
      {
        find: "add(purse, columnOf(lease), lease, -1);\n  const tokens",
        replace: "const tokens",
        in: import.meta.resolve("../../src/core/purse.ts"),
      },
    );
    const openLedger = sharedLedgers(drawOn, openSharedBudget);
    const figures = await runLedgerRaces({ seed: FIXED_SEED, races: 100, width: WIDTH, openLedger });
    assert.ok(figures.leaked > 0, JSON.stringify(figures));
  });
});

function faultsOf({ overspent, leaked, hung, wrongRefusals }: RaceFigures) {
  return { overspent, leaked, hung, wrongRefusals };
}
