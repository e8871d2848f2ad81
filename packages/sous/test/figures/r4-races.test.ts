/** R4 finds faults that are planted in the ledger and in shared budgets; those that only processes show are in `planted-faults.ts`. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../support/mutation.ts";
import { openLocal, type RaceFigures, type RaceOptions, runLedgerRaces } from "./r4-races.ts";
import { openSharedRace } from "./r4-shared.ts";

const FIXED_SEED = 4;
const WIDTH = 64;

type Ledger = typeof import("../../src/runtime/budget/ledger.ts");
type Charge = typeof import("../../src/runtime/model/charge.ts");
type Clients = typeof import("../../src/runtime/budget/shared-budget-client.ts");
type Budgets = typeof import("../../src/storage/store/memory-budgets.ts");

suite("R4 notices a ledger that", () => {
  const ledger = import.meta.resolve("../../src/runtime/budget/ledger.ts");
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
  const clients = import.meta.resolve("../../src/runtime/budget/shared-budget-client.ts");
  const mutations: [what: string, notices: keyof RaceFigures, processes: number, mutation: Mutation][] = [
    ["wakes no run when others have changed the rows", "hung", 2, { guard: "listen-while-waiting" }],
    [
      "refuses while something of it moves",
      "wrongRefusals",
      1,
      { guard: "shared-moves", replace: "if (!meter.isQuiet) continue;" },
    ],
    ["refuses no run although nothing moves", "hung", 1, { guard: "refuse-the-last-shared" }],
  ];
  for (const [what, notices, processes, mutation] of mutations) {
    test(`R4 notices a process on a shared budget that ${what}`, async () => {
      const { sharedChainOf: chainOf } = await importWithout<Clients>(clients, mutation);
      await assertNoticed(notices, openSharedRace({ processes, chainOf }));
    });
  }

  test("R4 notices a process on a shared budget whose rows have no limits", async () => {
    const book = import.meta.resolve("../../src/storage/store/memory-budgets.ts");
    const mutation = { guard: "row-within-limit", replace: "return true;" };
    const { MemoryBudgets } = await importWithout<Budgets>(book, mutation);
    await assertNoticed("overspent", (budget, slots) =>
      openSharedRace({ processes: 2, budgets: new MemoryBudgets() })(budget, slots),
    );
  });
});

suite("R4 notices a charge for an answer that broke off that", () => {
  const charge = import.meta.resolve("../../src/runtime/model/charge.ts");
  const mutations: [what: string, notices: keyof RaceFigures, mutation: Mutation][] = [
    ["leaves out what does not show", "unpaid", { guard: "charged-at-cap" }],
    ["is more than was reserved", "overspent", { guard: "held-to-cap" }],
    [
      "leaves out the event that was cut",
      "unpaid",
      {
        guard: "unfinished-bytes",
        replace: "const usage = estimateUsage(attempt, lease, receivedBytes);",
      },
    ],
  ];
  for (const [what, notices, mutation] of mutations) {
    test(`R4 notices a charge for an answer that broke off that ${what}`, async () => {
      const { settleFailure } = await importWithout<Charge>(charge, mutation);
      await assertNoticed(notices, undefined, settleFailure);
    });
  }
});

/** Sixty races at most: the rest is not run when some have shown it. */
async function assertNoticed(
  kind: keyof RaceFigures,
  open: RaceOptions["open"],
  settleCut?: RaceOptions["settleCut"],
): Promise<void> {
  const seen: RaceFigures[] = [];
  for (let seed = FIXED_SEED; seed < FIXED_SEED + 6; seed++) {
    const figures = await runLedgerRaces({ seed, races: 10, width: WIDTH, open, settleCut });
    if (figures[kind] > 0) return;
    seen.push(figures);
  }
  assert.fail(JSON.stringify(seen));
}
