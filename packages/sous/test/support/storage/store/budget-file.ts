/** A SQLite file with a shared budget, for tests that look at its books from outside. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore, type SqliteStoreOptions } from "../../../../src/storage/store/sqlite/store.ts";
import { VirtualClock } from "../../../../src/testing/world.ts";
import { BudgetProcess } from "./shared-budget/shared-budget-asks.ts";

/** A file in a folder of its own, looked at from outside; everything is closed and removed at the end. */
export function budgetFile() {
  const folder = mkdtempSync(join(tmpdir(), "sous-budget-"));
  const file = join(folder, "runs.db");
  const opened: AsyncDisposable[] = [];
  let outside: DatabaseSync | undefined;
  const database = () => (outside ??= new DatabaseSync(file));
  const books = () => String(database().prepare("SELECT books FROM purses").get()?.books);
  return {
    file,
    run: (sql: string) => database().exec(sql),
    all: (sql: string) =>
      database()
        .prepare(sql)
        .all()
        .map((row) => ({ ...row })),
    /** How many processes have a row in the books. */
    rows: (): number => JSON.parse(books()).members.length,
    changeBooks: (change: (books: string) => string) =>
      void database().prepare("UPDATE purses SET books = ?").run(change(books())),
    async open(options?: SqliteStoreOptions) {
      const store = await openSqliteStore(file, options);
      opened.push(store);
      return store;
    },
    /** One budget, drawn on by two processes; the clock is that of the second. */
    async twoProcesses(tokens: number) {
      const clock = new VirtualClock(Date.now());
      const here = new BudgetProcess(await (await this.open()).sharedBudget("team", { tokens }));
      const there = new BudgetProcess(await (await this.open({ clock })).sharedBudget("team"));
      return { here, there, clock };
    },
    async [Symbol.asyncDispose]() {
      outside?.close();
      for (const store of opened) await store[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, maxRetries: 5 });
    },
  };
}
