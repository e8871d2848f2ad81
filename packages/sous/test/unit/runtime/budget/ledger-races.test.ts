/** R4: runs that race for a budget neither overspend it nor lose any of it, and none is refused what can be paid. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { openLocal, type RaceFigures, type RaceOptions, runLedgerRaces } from "../figures/r4-races.ts";
import { openSharedRace } from "../figures/r4-shared.ts";
import { importWithout, type Mutation } from "../mutation.ts";

const FIXED_SEED = 4;
const RACES = 40;
const WIDTH = 64;
/** Fewer than on the ledger alone, because each step goes through two sets of books. */
const SHARED_RACES = 15;

type Ledger = typeof import("../../src/budget/ledger.ts");
type SharedBudgetClients = typeof import("../../src/budget/shared-budget-client.ts");
type SharedBudgets = typeof import("../../src/store/shared-budget.ts");

const FAULTLESS = { overspent: 0, leaked: 0, hung: 0, wrongRefusals: 0 };

// Before the first test: the hooks the test runner sets on promises would make the races three times as slow.
const raced: RaceFigures[] = [];
for (const seed of [FIXED_SEED, newSeed()]) raced.push(await runLedgerRaces({ seed, races: RACES, width: WIDTH }));

const racedOnShared: [what: string, figures: RaceFigures][] = [];
for (const [what, options] of [
  ["two trees of one process", { processes: 1 }],
  ["two processes", { processes: 2 }],
  ["three processes and a slow store", { processes: 3, isSlow: true }],
] as const) {
  const open = openSharedRace(options);
  racedOnShared.push([what, await runLedgerRaces({ seed: newSeed(), races: SHARED_RACES, width: WIDTH, open })]);
}

for (const figures of raced) {
  test(`R4: ${RACES} races of ${WIDTH} neither overspend, leak, hang nor refuse wrongly (seed ${figures.seed})`, (t) => {
    t.diagnostic(`R4 ${JSON.stringify(figures)}`);
    assert.deepEqual(faultsOf(figures), FAULTLESS);
    checkVariety(figures);
  });
}

for (const [what, figures] of racedOnShared) {
  test(`R4, H1: races of ${what} for a shared budget neither overspend, leak, hang nor refuse wrongly`, (t) => {
    t.diagnostic(`R4 ${JSON.stringify(figures)}`);
    assert.deepEqual(faultsOf(figures), FAULTLESS);
    checkVariety(figures);
  });
}

suite("R4 notices a ledger that", () => {
  const ledger = import.meta.resolve("../../src/budget/ledger.ts");
  const mutations: [what: string, notices: keyof RaceFigures, mutation: Mutation][] = [
    [
      "asks only its own limit and not those above",
      "overspent",
      {
        guard: "every-limit-above",
        replace: "if (meter !== this.meters.at(-1)) continue;\n const here = outputAt(meter, wanted, round);",
      },
    ],
    [
      "does not count what is in flight",
      "overspent",
      { guard: "free-amount", replace: "return this.limit - this.spent - this.kept;" },
    ],
    [
      "does not count what is kept for last words",
      "overspent",
      { guard: "free-amount", replace: "return this.limit - this.spent - this.inFlight;" },
    ],
    [
      "does not give back what a call left over",
      "leaked",
      { guard: "give-back-the-rest", replace: "meter.inFlight -= spent[unit];" },
    ],
    ["keeps the last words of a run that has ended", "leaked", { guard: "drop-the-reserve" }],
    ["counts a lease twice when it is settled and disposed", "leaked", { guard: "settle-once" }],
    ["refuses no run when nothing moves", "hung", { guard: "refuse-when-stuck", replace: "const last = undefined;" }],
    [
      "refuses while something moves",
      "wrongRefusals",
      { guard: "refuse-when-stuck", replace: "const last = this.#lastOn(meter);" },
    ],
    [
      "refuses the first instead of the last",
      "wrongRefusals",
      { guard: "refuse-the-last", replace: "return this.#live.find(draws) ?? this.#starters.find(draws);" },
    ],
    [
      "refuses what is only not free now",
      "wrongRefusals",
      { guard: "never-enough", replace: "const within = meter.free - keptAbove(above, meter, index);" },
    ],
  ];
  for (const [what, notices, mutation] of mutations) {
    test(`R4 notices a ledger that ${what}`, async () => {
      const { openLedger } = await importWithout<Ledger>(ledger, mutation);
      const open = (...[budget, slots]: Parameters<typeof openLocal>) => openLocal(budget, slots, openLedger);
      await assertNoticed(notices, open);
    });
  }
});

suite("R4 notices a process on a shared budget that", () => {
  const lines = import.meta.resolve("../../src/budget/shared-budget-client.ts");
  const mutations: [what: string, notices: keyof RaceFigures, mutation: Mutation][] = [
    ["wakes no run when others have changed the books", "hung", { guard: "listen-while-waiting" }],
    [
      "writes down no last words",
      "overspent",
      { guard: "shared-reserve", replace: "kept: { tokens: 0, nanoUsd: 0 }," },
    ],
    ["says that nothing of it moves", "wrongRefusals", { guard: "shared-moves", replace: "moves: false," }],
    [
      "does not say when it has stopped moving",
      "hung",
      { guard: "tell-when-stopped", replace: "if (!isSame(share, this.#row.share())) return true;" },
    ],
    ["refuses no run although it came last", "hung", { guard: "refuse-the-last-shared" }],
  ];
  for (const [what, notices, mutation] of mutations) {
    test(`R4 notices a process on a shared budget that ${what}`, async () => {
      const { sharedBudgetClientOf: lineOf } = await importWithout<SharedBudgetClients>(lines, mutation);
      const open = openSharedRace({ processes: 2, lineOf });
      await assertNoticed(notices, open);
    });
  }

  test("R4 notices a process on a shared budget that shares books that do not count what others hold", async () => {
    const { openSharedBudget: openShared } = await importWithout<SharedBudgets>(
      import.meta.resolve("../../src/store/shared-budget.ts"),
      {
        guard: "free-of-a-purse",
        replace: "const free = unspent;",
      },
    );
    const open = openSharedRace({ processes: 2, openShared });
    await assertNoticed("overspent", open);
  });
});

/** Sixty races at most: the rest is not run when some have shown it. */
async function assertNoticed(kind: keyof RaceFigures, open: RaceOptions["open"]): Promise<void> {
  const seen: RaceFigures[] = [];
  for (let seed = FIXED_SEED; seed < FIXED_SEED + 6; seed++) {
    const figures = await runLedgerRaces({ seed, races: 10, width: WIDTH, open });
    if (figures[kind] > 0) return;
    seen.push(figures);
  }
  assert.fail(JSON.stringify(seen));
}

function faultsOf({ overspent, leaked, hung, wrongRefusals }: RaceFigures): typeof FAULTLESS {
  return { overspent, leaked, hung, wrongRefusals };
}

/** Races in which no run waits, is refused or stopped would show nothing. */
function checkVariety(figures: RaceFigures): void {
  for (const kind of ["granted", "waited", "refused", "cancelled"] as const) {
    assert.ok(figures[kind] > figures.races, `${kind}: ${figures[kind]}`);
  }
  assert.ok(figures.lastWords > figures.races / 2, `last words: ${figures.lastWords}`);
}

function newSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}
