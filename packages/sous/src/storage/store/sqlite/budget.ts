/** Shared budgets in a SQLite database: one transaction for each step, for any number of processes. */

import { randomUUID } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import type { Purse } from "../../core/purse.ts";
import { hasOwner, PURSE_COLUMNS, purseValues, toPurse, withoutOwner } from "../purse-row.ts";
import type { PurseChange, PurseTables } from "../shared-budget.ts";
import type { SqliteConnection } from "./connection.ts";

/** Sends no notifications: waiting processes poll. */
export class SqlitePurses implements PurseTables {
  readonly owner: string;
  readonly now: () => number;
  readonly newId = (): string => randomUUID();
  readonly #connection: SqliteConnection;
  /** The purses in which this store has a row. */
  readonly #names = new Set<string>();

  constructor(connection: SqliteConnection, owner: string, clock: Pick<Clock, "now">) {
    this.#connection = connection;
    this.owner = owner;
    this.now = () => Math.max(0, Math.floor(clock.now()));
  }

  update<T>(name: string, change: (purse: Purse | undefined) => PurseChange<T>): T {
    // guard: budget-in-a-transaction
    const { purse, result } = this.#connection.write(() => {
      const row = this.#connection.prepare(LOAD).get(name);
      const changed = change(row === undefined ? undefined : toPurse(row));
      if (changed.purse !== undefined) this.#connection.prepare(SAVE).run(name, ...purseValues(changed.purse));
      return changed;
    });
    if (purse !== undefined && hasOwner(purse, this.owner)) this.#names.add(name);
    return result;
  }

  /** What calls still hold counts as spent. */
  close(): void {
    for (const name of this.#names) {
      this.update(name, (purse) => ({ purse: purse && withoutOwner(purse, this.owner), result: undefined }));
      this.#names.delete(name);
    }
  }
}

/** The table, in the words that `schema.ts` compares. */
export const PURSES = `CREATE TABLE purses (
  name TEXT NOT NULL UNIQUE,
  limit_tokens INTEGER,
  limit_nano_usd INTEGER,
  limit_executions INTEGER,
  books TEXT NOT NULL
)`;

const LOAD = `SELECT ${PURSE_COLUMNS.join(", ")} FROM purses WHERE name = ?`;
const SAVE = `INSERT INTO purses (name, ${PURSE_COLUMNS.join(", ")}) VALUES (?, ${PURSE_COLUMNS.map(() => "?").join(", ")})
  ON CONFLICT (name) DO UPDATE SET ${PURSE_COLUMNS.map((column) => `${column} = excluded.${column}`).join(", ")}`;
