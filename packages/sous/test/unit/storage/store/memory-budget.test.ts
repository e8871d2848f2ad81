/** Shared budgets of one process: the contract of every shared budget. */

import { test } from "node:test";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { sharedBudgetContract } from "../../../support/storage/store/shared-budget/contract.ts";

sharedBudgetContract(test, async () => {
  const store = openMemoryStore();
  return { one: store, other: store, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
});
