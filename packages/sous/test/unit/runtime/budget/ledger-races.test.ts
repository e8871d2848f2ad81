/** R4: runs that race for a budget neither overspend it nor lose any of it, and none is refused what can be paid. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type RaceFigures, runLedgerRaces } from "../../../figures/r4-races.ts";
import { openSharedRace } from "../../../figures/r4-shared.ts";

/** `npm run soak -- R4` draws fresh ones. */
const SEEDS = [4, 5] as const;
const RACES = 20;
const WIDTH = 64;
/** Fewer than on the ledger alone, because each step goes through two sets of books. */
const SHARED_RACES = 8;

const FAULTLESS = { overspent: 0, unpaid: 0, leaked: 0, hung: 0, wrongRefusals: 0 };

// Before the first test: the hooks the test runner sets on promises would make the races three times as slow.
const raced: RaceFigures[] = [];
for (const seed of SEEDS) raced.push(await runLedgerRaces({ seed, races: RACES, width: WIDTH }));

const racedOnShared: [what: string, figures: RaceFigures][] = [];
for (const [what, options] of [
  ["two trees of one process", { processes: 1 }],
  ["two processes", { processes: 2 }],
  ["three processes and a slow store", { processes: 3, isSlow: true }],
] as const) {
  const open = openSharedRace(options);
  racedOnShared.push([what, await runLedgerRaces({ seed: SEEDS[0], races: SHARED_RACES, width: WIDTH, open })]);
}

for (const figures of raced) {
  test(`R4: ${RACES} races of ${WIDTH} neither overspend, leak, hang nor refuse wrongly (seed ${figures.seed})`, (t) => {
    t.diagnostic(`R4 ${JSON.stringify(figures)}`);
    assert.deepEqual(faultsOf(figures), FAULTLESS);
    checkVariety(figures);
  });
}

for (const [what, figures] of racedOnShared) {
  test(`R4, H1: races of ${what} for a shared budget neither overspend, leak nor hang`, (t) => {
    t.diagnostic(`R4 ${JSON.stringify(figures)}`);
    assert.deepEqual({ ...faultsOf(figures), wrongRefusals: 0 }, FAULTLESS);
    checkVariety(figures);
  });
}

test("R4, H1: within a process a shared budget refuses by the rules of the ledger", () => {
  const [, figures] = racedOnShared[0] ?? [];
  assert.equal(figures?.wrongRefusals, 0);
});

function faultsOf({ overspent, unpaid, leaked, hung, wrongRefusals }: RaceFigures): typeof FAULTLESS {
  return { overspent, unpaid, leaked, hung, wrongRefusals };
}

/** Races in which no run waits, is refused or stopped would show nothing. */
function checkVariety(figures: RaceFigures): void {
  for (const kind of ["granted", "waited", "refused", "cancelled", "cut"] as const) {
    assert.ok(figures[kind] > figures.races, `${kind}: ${figures[kind]}`);
  }
  assert.ok(figures.lastWords > figures.races / 2, `last words: ${figures.lastWords}`);
}
