/** R4: runs that race for a budget neither overspend it nor lose any of it, and none is refused what can be paid. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { openLocal, type RaceFigures, runLedgerRaces } from "../figures/r4-races.ts";
import { openSharedRace } from "../figures/r4-shared.ts";
import { importWithout, type Mutation } from "../mutation.ts";

const FIXED_SEED = 4;
const RACES = 400;
const WIDTH = 64;
/** Fewer than on the ledger alone, because each step goes through two sets of books. */
const SHARED_RACES = 80;

type Ledger = typeof import("../../src/budget/ledger.ts");
type PurseLines = typeof import("../../src/budget/purse-line.ts");
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
  const funds = import.meta.resolve("../../src/budget/funds.ts");
  const holder = import.meta.resolve("../../src/budget/holder.ts");
  const line = import.meta.resolve("../../src/budget/line.ts");
  const mutations: [what: string, notices: keyof RaceFigures, mutation: Mutation][] = [
    [
      "asks only its own limit and not those above",
      "overspent",
      {
        find: "for (const meter of this.meters) {\n      const here",
        replace: "for (const meter of this.meters.slice(-1)) {\n      const here",
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
      "does not count what is kept for last words",
      "overspent",
      {
        find: "return this.limit - this.spent - this.inFlight - this.kept;",
        replace: "return this.limit - this.spent - this.inFlight;",
        in: import.meta.resolve("../../src/budget/meter.ts"),
      },
    ],
    [
      "does not give back what a call left over",
      "leaked",
      { find: "meter.inFlight -= reserved[unit];", replace: "meter.inFlight -= spent[unit];", in: holder },
    ],
    [
      "keeps the last words of a run that has ended",
      "leaked",
      {
        find: "this.line.holders.delete(this);\n    this.clearReserve();",
        replace: "this.line.holders.delete(this);",
        in: holder,
      },
    ],
    [
      "counts a lease twice when it is settled and disposed",
      "leaked",
      {
        find: "[Symbol.dispose](): void {\n    if (!this.#isOpen) return;",
        replace: "[Symbol.dispose](): void {",
        in: import.meta.resolve("../../src/budget/funds.ts"),
      },
    ],
    ["refuses nobody when nothing moves", "hung", { find: "this.#refuseIfStuck());", replace: "false);", in: line }],
    [
      "refuses while something moves",
      "wrongRefusals",
      { find: "meter.moving > 0 ? undefined : this.#lastOn(meter)", replace: "this.#lastOn(meter)", in: line },
    ],
    [
      "refuses the first instead of the last",
      "wrongRefusals",
      {
        find: "this.#starters.findLast(draws) ?? this.#live.findLast(draws)",
        replace: "this.#live.find(draws) ?? this.#starters.find(draws)",
        in: line,
      },
    ],
    [
      "refuses what is only not free now",
      "wrongRefusals",
      {
        find: "const within = meter.limit - meter.spent - kept",
        replace: "const within = meter.free - kept",
        in: funds,
      },
    ],
  ];
  for (const [what, notices, mutation] of mutations) {
    test(what, async () => {
      const { openLedger } = await importWithout<Ledger>(ledger, mutation);
      const open = (...[budget, slots]: Parameters<typeof openLocal>) => openLocal(budget, slots, openLedger);
      const figures = await runLedgerRaces({ seed: FIXED_SEED, races: 60, width: WIDTH, open });
      assert.ok(figures[notices] > 0, JSON.stringify(figures));
    });
  }
});

suite("R4 notices a process on a shared budget that", () => {
  const lines = import.meta.resolve("../../src/budget/purse-line.ts");
  const step = import.meta.resolve("../../src/budget/purse-own-row.ts");
  const mutations: [what: string, notices: keyof RaceFigures, mutation: Mutation][] = [
    [
      "wakes nobody when others have changed the books",
      "hung",
      {
        find: "this.#listening ??= this.#purse.listen(this.#onAlarm);",
        replace: "void 0;",
        in: import.meta.resolve("../../src/budget/purse-alarm.ts"),
      },
    ],
    [
      "writes down no last words",
      "overspent",
      {
        find: "kept: { tokens: tokens.kept, nanoUsd: money.kept },",
        replace: "kept: { tokens: 0, nanoUsd: 0 },",
        in: import.meta.resolve("../../src/budget/purse-own-row.ts"),
      },
    ],
    [
      "says that nothing of it moves",
      "wrongRefusals",
      { find: "    moves,\n    mayLower,", replace: "    moves: false,\n    mayLower,", in: step },
    ],
    [
      "does not say when it has stopped moving",
      "hung",
      { find: " || (moves && !this.#moves)) return true;", replace: ") return true;", in: lines },
    ],
    [
      "refuses nobody although it came last",
      "hung",
      { find: "if (reply.mustRefuse && ", replace: "if (reply.mustRefuse && false && ", in: lines },
    ],
  ];
  for (const [what, notices, mutation] of mutations) {
    test(what, async () => {
      const { purseLineOf: lineOf } = await importWithout<PurseLines>(lines, mutation);
      const open = openSharedRace({ processes: 2, lineOf });
      const figures = await runLedgerRaces({ seed: FIXED_SEED, races: 40, width: WIDTH, open });
      assert.ok(figures[notices] > 0, JSON.stringify(figures));
    });
  }

  test("shares books that do not count what others hold", async () => {
    const { openSharedBudget: openShared } = await importWithout<SharedBudgets>(
      import.meta.resolve("../../src/store/shared-budget.ts"),
      {
        find: "const free = unspent - reserved[unit];",
        replace: "const free = unspent;",
        in: import.meta.resolve("../../src/core/purse-answer.ts"),
      },
    );
    const open = openSharedRace({ processes: 2, openShared });
    const figures = await runLedgerRaces({ seed: FIXED_SEED, races: 40, width: WIDTH, open });
    assert.ok(figures.overspent > 0, JSON.stringify(figures));
  });
});

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
