/** Shared budgets in a SQLite database: one transaction for each step, for any number of processes. */

import { randomUUID } from "node:crypto";
import type { Clock } from "../../../core/clock.ts";
import type { SharedBudgetBooks } from "../../../core/shared-budget-books.ts";
import type { SharedBudgetChange, SharedBudgetTables } from "../shared-budget.ts";
import { BOOK_COLUMNS, bookValues, hasOwner, toSharedBudgetBooks, withoutOwner } from "../shared-budget-row.ts";
import type { SqliteConnection } from "./connection.ts";

/** Sends no notifications: waiting processes poll. */
export class SqliteSharedBudgets implements SharedBudgetTables {
  readonly owner: string;
  readonly now: () => number;
  readonly newId = (): string => randomUUID();
  readonly #connection: SqliteConnection;
  /** The shared budgets in which this store has a row. */
  readonly #names = new Set<string>();

  constructor(connection: SqliteConnection, owner: string, clock: Pick<Clock, "now">) {
    this.#connection = connection;
    this.owner = owner;
    this.now = () => Math.max(0, Math.floor(clock.now()));
  }

  update<T>(name: string, change: (books: SharedBudgetBooks | undefined) => SharedBudgetChange<T>): T {
    // guard: budget-in-a-transaction
    const { books, result } = this.#connection.write(() => {
      const row = this.#connection.prepare(LOAD).get(name);
      const changed = change(row === undefined ? undefined : toSharedBudgetBooks(row));
      if (changed.books !== undefined) this.#connection.prepare(SAVE).run(name, ...bookValues(changed.books));
      return changed;
    });
    if (books !== undefined && hasOwner(books, this.owner)) this.#names.add(name);
    return result;
  }

  /** Amounts that calls still hold count as spent. */
  close(): void {
    for (const name of this.#names) {
      this.update(name, (books) => ({ books: books && withoutOwner(books, this.owner), result: undefined }));
      this.#names.delete(name);
    }
  }
}

/** The table, in the words that `schema.ts` compares. */
export const SHARED_BUDGETS = `CREATE TABLE purses (
  name TEXT NOT NULL UNIQUE,
  limit_tokens INTEGER,
  limit_nano_usd INTEGER,
  limit_executions INTEGER,
  books TEXT NOT NULL
)`;

const LOAD = `SELECT ${BOOK_COLUMNS.join(", ")} FROM purses WHERE name = ?`;
const SAVE = `INSERT INTO purses (name, ${BOOK_COLUMNS.join(", ")}) VALUES (?, ${BOOK_COLUMNS.map(() => "?").join(", ")})
  ON CONFLICT (name) DO UPDATE SET ${BOOK_COLUMNS.map((column) => `${column} = excluded.${column}`).join(", ")}`;
