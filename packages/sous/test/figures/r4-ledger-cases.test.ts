/** R4: the cases of the ledger and of the gate of `max_concurrent` turn out differently without the rules they show. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { importWithout, type Mutation } from "../support/mutation.ts";
import { fullGate, LEDGER_CASES, olderBesideAChild } from "../support/runtime/budget/ledger-cases.ts";
import { stateOf } from "../support/runtime/budget/ledger-runs.ts";

suite("R4: the cases notice a ledger without the rule that", () => {
  for (const { rule, mutation, without, run } of LEDGER_CASES) {
    test(`R4: the cases notice a ledger without the rule that ${rule}`, async () =>
      assert.equal(await run(await ledgerWithout(mutation)), without));
  }
});

test("R4: the cases notice a ledger in which a parent waits before its child stands in the line", async () => {
  const ledger = await ledgerWithout({
    guard: "queue-before-wait",
    replace: "if (callId !== undefined) holder.above?.wait(callId)[Symbol.dispose]();\nthis.#starters.push(waiter);",
  });
  assert.equal(await stateOf(olderBesideAChild(ledger)), "refused");
});

test("R4: the cases notice a gate that does not say that a run waits for it", async () => {
  const { Slots } = await importWithout<typeof import("../../src/runtime/budget/run-slots.ts")>(
    import.meta.resolve("../../src/runtime/budget/run-slots.ts"),
    { guard: "wait-for-a-slot" },
  );
  const { youngest, wake } = fullGate(Slots);
  void wake();
  assert.equal(await stateOf(youngest), "waits");
});

async function ledgerWithout(mutation: Mutation) {
  const url = import.meta.resolve("../../src/runtime/budget/ledger.ts");
  const { openLedger } = await importWithout<typeof import("../../src/runtime/budget/ledger.ts")>(url, mutation);
  return openLedger;
}
