/** Shared budgets of one process: the contract of every shared budget. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { MemoryBudgets } from "../../../../src/storage/store/memory-budgets.ts";
import { fateBy } from "../../../../src/storage/store/shared-budget.ts";
import { ELSEWHERE, sharedBudgetContract, sharing } from "../../../support/storage/store/shared-budget/contract.ts";
import { deletesBudgetsOfTrees } from "../../../support/storage/store/shared-budget/deleted-trees.ts";

sharedBudgetContract(test, async () => {
  const budgets = new MemoryBudgets();
  const dead = new Set<string>();
  let time = 0;
  const now = () => time;
  const fateOf = fateBy((owner) => dead.has(owner));
  return {
    one: sharing(budgets.rowsFor(ELSEWHERE, fateOf, now)),
    other: sharing(budgets.rowsFor("elsewhere boot 2 1 x", fateOf, now)),
    async takeForDead(how) {
      if (how === "gone") dead.add(ELSEWHERE);
      else time += 60_000;
    },
    [Symbol.asyncDispose]: async () => {},
  };
});

test("the caller that has stopped to listen to shared budgets hears no more of them, not even what was on its way", async () => {
  const budgets = new MemoryBudgets();
  const [here, there] = [budgets.rowsFor("here"), budgets.rowsFor("there")];
  const heard: string[] = [];
  const listening = ["kept", "gone"].map((who) => there.listen?.(() => heard.push(who)));
  const limits = { tokens: 5, nanoUsd: undefined, executions: undefined };
  const change = () =>
    here.make({ name: "crew", limits, spent: { tokens: 0, nanoUsd: 0, executions: 0 }, replaces: true });
  change();
  await null;
  change();
  listening[1]?.[Symbol.dispose]();
  await null;
  assert.deepEqual(heard, ["kept", "gone", "kept"]);
});

test("the rows of a tree end with the tree, in memory", () => deletesBudgetsOfTrees(openMemoryStore()));
