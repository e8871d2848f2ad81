/** A SQLite file with a shared budget, for tests that look at its rows from outside. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { BudgetBook } from "../../../../src/storage/store/budget-book.ts";
import { newOwner } from "../../../../src/storage/store/owner.ts";
import { createBudgetRows } from "../../../../src/storage/store/sqlite/budget.ts";
import { SqliteConnection } from "../../../../src/storage/store/sqlite/connection.ts";
import { makeDatabase } from "../../../../src/storage/store/sqlite/file.ts";
import { openSqliteStore, type SqliteStoreOptions } from "../../../../src/storage/store/sqlite/store.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { sharing } from "./shared-budget/contract.ts";
import { BudgetProcess } from "./shared-budget/shared-budget-asks.ts";

/** A file in a folder of its own, looked at from outside; everything is closed and removed at the end. */
export function budgetFile() {
  const folder = mkdtempSync(join(tmpdir(), "sous-budget-"));
  const file = join(folder, "runs.db");
  const opened: (AsyncDisposable | Disposable)[] = [];
  let outside: DatabaseSync | undefined;
  const database = () => (outside ??= new DatabaseSync(file));
  const count = (table: string) => Number(database().prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count);
  return {
    file,
    run: (sql: string) => database().exec(sql),
    all: (sql: string) =>
      database()
        .prepare(sql)
        .all()
        .map((row) => ({ ...row })),
    /** How many processes draw on budgets, and how many parts of rows they hold. */
    processes: (): [owners: number, holds: number] => [count("budget_owners"), count("budget_holds")],
    async open(options?: SqliteStoreOptions) {
      const store = await openSqliteStore(file, options);
      opened.push(store);
      return store;
    },
    /** The rows as a process with this name draws on them, on a connection of its own. */
    async rows(owner: string, clock = new VirtualClock(0), isGone?: (owner: string) => boolean): Promise<BudgetBook> {
      await (await openSqliteStore(file))[Symbol.asyncDispose]();
      const options = { readOnly: false, synchronous: "normal", busyTimeoutMs: 5_000, now: clock.now } as const;
      const connection = new SqliteConnection(makeDatabase(file), options);
      opened.push(connection);
      return createBudgetRows(connection, owner, clock, isGone);
    },
    /** One budget, drawn on by two processes of this machine; the clock is that of the second. */
    async twoProcesses(tokens: number, owner: string = newOwner()) {
      const clock = new VirtualClock(Date.now());
      const first = await this.rows(owner, new VirtualClock(Date.now()));
      const here = new BudgetProcess(await sharing(first).sharedBudget("team", { tokens }));
      const there = new BudgetProcess(await (await this.open({ clock })).sharedBudget("team"));
      return { here, there, clock };
    },
    async [Symbol.asyncDispose]() {
      outside?.close();
      for (const each of opened) {
        if (Symbol.asyncDispose in each) await each[Symbol.asyncDispose]();
        else each[Symbol.dispose]();
      }
      rmSync(folder, { recursive: true, maxRetries: 5 });
    },
  };
}
