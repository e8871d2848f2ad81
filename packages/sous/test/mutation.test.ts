/** The tool behind every mutation check. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Slots } from "../src/budget/run-slots.ts";
import { BudgetExceeded } from "../src/core/errors.ts";
import { importWithout } from "./mutation.ts";

type Ledger = typeof import("../src/budget/ledger.ts");

const PARTS = { slots: new Slots(1, "queue") };

const ledger = import.meta.resolve("../src/budget/ledger.ts");

test("a mutant differs from the original in one place and shares the rest with it", async () => {
  const guard = 'if (started >= limit) throw new BudgetExceeded("executions", started, limit);';
  const mutant = await importWithout<Ledger>(ledger, { find: guard, replace: "" });
  const original: Ledger = await import(ledger);
  void mutant.openLedger({ executions: 0 }, PARTS).startExecution();
  assert.throws(() => original.openLedger({ executions: 0 }, PARTS).startExecution(), BudgetExceeded);
  assert.throws(
    () => mutant.openLedger({ executions: 0 }, PARTS).openAs("children", { executions: 1 }),
    BudgetExceeded,
  );
});

test("a mutant may be changed in a file that it imports", async () => {
  const mutant = await importWithout<Ledger>(ledger, {
    find: "Math.round(costUsd * 1e9)",
    replace: "7e9",
    in: import.meta.resolve("../src/core/amount.ts"),
  });
  assert.deepEqual(mutant.openLedger({ costUsd: 1 }, PARTS).left(), { costUsd: 7 });
});

test("a mutation that would change nothing, or more than one place, is refused", async () => {
  await assert.rejects(
    importWithout(ledger, { find: "no such text", replace: "" }),
    /"no such text" occurs 0 times in .*ledger\.ts; a mutation needs exactly one/,
  );
  await assert.rejects(importWithout(ledger, { find: "executions", replace: "" }), /occurs \d\d times/);
  const elsewhere = import.meta.resolve("../src/budget/prices.ts");
  await assert.rejects(
    importWithout(ledger, { find: "ModelFacts = {", replace: "", in: elsewhere }),
    /does not import/,
  );
});
