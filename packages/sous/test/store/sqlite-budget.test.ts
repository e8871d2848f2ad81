/** Shared budgets in SQLite: the contract of every shared budget, and what is its own. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import { sharedBudgetContract } from "../../src/testing/shared-budget-contract.ts";

sharedBudgetContract(test, async () => {
  const folder = mkdtempSync(join(tmpdir(), "sous-budget-"));
  const file = join(folder, "runs.db");
  const one = await openSqliteStore(file);
  const other = await openSqliteStore(file);
  return {
    one,
    other,
    async [Symbol.asyncDispose]() {
      await one[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
});
