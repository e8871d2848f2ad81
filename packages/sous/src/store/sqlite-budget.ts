/** Shared budgets in a SQLite database: one transaction for each step, for any number of processes. */

import { randomUUID } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { nowOrLater, type Steps } from "../core/now-or-later.ts";
import { isGone, isRunning } from "./owner.ts";
import { LEASE_COLUMNS, leaseValues, PURSE_COLUMNS, purseValues, toLease, toPurse } from "./purse-row.ts";
import type { PurseRows, PurseTables } from "./shared-budget.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";

const LEASE_MS = 30_000;
const RENEWAL_MS = 10_000;

export class SqlitePurses implements PurseTables {
  readonly owner: string;
  readonly #connection: SqliteConnection;
  readonly #clock: Pick<Clock, "now" | "timer">;
  /** The ids of the reservations this store holds. */
  readonly #held = new Set<string>();
  #renewal: Disposable | undefined;

  constructor(connection: SqliteConnection, owner: string, clock: Pick<Clock, "now" | "timer">) {
    this.#connection = connection;
    this.owner = owner;
    this.#clock = clock;
  }

  readonly now = (): number => this.#clock.now();
  readonly newId = (): string => randomUUID();

  transact<T>(name: string, steps: (rows: PurseRows) => Steps<T>): T | Promise<T> {
    const put: string[] = [];
    const gone: string[] = [];
    const result = this.#connection.write(() => nowOrLater(steps(this.#rows(name, put, gone))));
    // Only what was committed is held.
    for (const id of gone) this.#held.delete(id);
    for (const id of put) this.#held.add(id);
    if (this.#held.size === 0) this.#stopRenewal();
    else this.#renewal ??= this.#clock.timer(RENEWAL_MS, this.#renew);
    return result;
  }

  /** What was reserved and not settled counts as spent. */
  close(): void {
    this.#stopRenewal();
    if (this.#held.size > 0) this.#connection.write(() => this.#connection.prepare(LEAVE_ALL).run(this.owner));
    this.#held.clear();
  }

  #rows(name: string, put: string[], gone: string[]): PurseRows {
    const prepare = (sql: string) => this.#connection.prepare(sql);
    return {
      load() {
        const row = prepare(LOAD).get(name);
        return row === undefined ? undefined : toPurse(row);
      },
      save: (purse) => void prepare(SAVE).run(name, ...purseValues(purse)),
      lease(id) {
        const row = prepare(FIND_LEASE).get(id, name);
        return row === undefined ? undefined : toLease(row);
      },
      abandoned: () => {
        const owners = prepare(FIND_OWNERS)
          .all(name, this.owner)
          .map(({ owner, until }) => ({
            owner: String(owner),
            isOrphan: owner === NOBODY || isGone(String(owner)),
            isLate: !(Number(until) > this.now()) && !isRunning(String(owner)),
          }));
        return owners.flatMap(({ owner, isOrphan, isLate }) => {
          const theirs = isOrphan || isLate ? prepare(FIND_THEIRS).all(name, owner) : [];
          return theirs.map((row) => ({ ...toLease(row), isOrphan }));
        });
      },
      putLease: (lease) => {
        prepare(PUT_LEASE).run(name, ...leaseValues(lease), this.now() + LEASE_MS);
        if (lease.owner === this.owner && !lease.isLapsed) put.push(lease.id);
      },
      deleteLease(id) {
        prepare(DELETE_LEASE).run(id);
        gone.push(id);
      },
    };
  }

  readonly #renew = (): void => {
    this.#renewal = this.#clock.timer(RENEWAL_MS, this.#renew);
    try {
      this.#connection.write(() => this.#connection.prepare(RENEW).run(this.now() + LEASE_MS, this.owner));
    } catch (error) {
      // The next renewal may do better; and what is counted as spent too early is put right when it is settled.
      if (!(error instanceof StoreError)) throw error;
    }
  };

  #stopRenewal(): void {
    this.#renewal?.[Symbol.dispose]();
    this.#renewal = undefined;
  }
}

/** Owns what a store had reserved when it was closed. */
const NOBODY = "";

/** The parts of the schema, in the words that `sqlite-schema.ts` compares. */
export const PURSES = `CREATE TABLE purses (
  name TEXT NOT NULL UNIQUE,
  limit_tokens INTEGER,
  limit_nano_usd INTEGER,
  limit_executions INTEGER,
  spent_tokens INTEGER NOT NULL,
  spent_nano_usd INTEGER NOT NULL,
  in_flight_tokens INTEGER NOT NULL,
  in_flight_nano_usd INTEGER NOT NULL,
  kept_tokens INTEGER NOT NULL,
  kept_nano_usd INTEGER NOT NULL,
  executions INTEGER NOT NULL,
  waiting TEXT NOT NULL
)`;

export const PURSE_LEASES = `CREATE TABLE purse_leases (
  id TEXT NOT NULL UNIQUE,
  purse TEXT NOT NULL,
  owner TEXT NOT NULL,
  kind TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  nano_usd INTEGER NOT NULL,
  is_lapsed INTEGER NOT NULL,
  leased_until INTEGER NOT NULL
)`;

const LOAD = `SELECT ${PURSE_COLUMNS.join(", ")} FROM purses WHERE name = ?`;
const SAVE = `INSERT INTO purses (name, ${PURSE_COLUMNS.join(", ")}) VALUES (?, ${PURSE_COLUMNS.map(() => "?").join(", ")})
  ON CONFLICT (name) DO UPDATE SET ${PURSE_COLUMNS.map((column) => `${column} = excluded.${column}`).join(", ")}`;

const LEASES = `SELECT ${LEASE_COLUMNS.join(", ")} FROM purse_leases`;
const FIND_LEASE = `${LEASES} WHERE id = ? AND purse = ?`;
const FIND_OWNERS = `SELECT owner, max(leased_until) AS until FROM purse_leases
  WHERE purse = ? AND is_lapsed = 0 AND owner <> ? GROUP BY owner`;
const FIND_THEIRS = `${LEASES} WHERE purse = ? AND is_lapsed = 0 AND owner = ?`;
const PUT_LEASE = `INSERT OR REPLACE INTO purse_leases (purse, ${LEASE_COLUMNS.join(", ")}, leased_until)
  VALUES (?, ${LEASE_COLUMNS.map(() => "?").join(", ")}, ?)`;
const DELETE_LEASE = "DELETE FROM purse_leases WHERE id = ?";
const RENEW = "UPDATE purse_leases SET leased_until = ? WHERE owner = ? AND is_lapsed = 0";
const LEAVE_ALL = `UPDATE purse_leases SET owner = '${NOBODY}', leased_until = 0 WHERE owner = ? AND is_lapsed = 0`;
