/** Shared budgets of one process: the contract of every shared budget. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { memorySharedBudgets, openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { sharedBudgetContract } from "../../../support/storage/store/shared-budget/contract.ts";

sharedBudgetContract(test, async () => {
  const store = openMemoryStore();
  return { one: store, other: store, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
});

test("the caller that has stopped to listen to a shared budget hears no more of it, not even what was on its way", async () => {
  const tables = memorySharedBudgets();
  const heard: string[] = [];
  const change = (from: string) =>
    tables.update("crew", () => ({ books: undefined, result: undefined, newsFrom: from }));
  const listening = ["kept", "gone"].map((who) => tables.listen?.("crew", (from) => heard.push(`${who}: ${from}`)));
  change("first");
  await null;
  change("second");
  listening[1]?.[Symbol.dispose]();
  change("third");
  await null;
  assert.deepEqual(heard, ["kept: first", "gone: first", "kept: second", "kept: third"]);
});
