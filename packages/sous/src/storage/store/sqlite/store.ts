/** The store of one machine: a SQLite database in a file, for any number of processes. */

import { lstatSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import type { Clock } from "../../../core/clock.ts";
import { checkWhole, checkWord, StoreError, UserError } from "../../../core/errors.ts";
import type { StoredEvent } from "../../../core/event.ts";
import { checkOptions, type OptionNames } from "../../../core/options.ts";
import type { SharedBudget, SharedBudgetOptions, SharedBudgets, SharedLimits } from "../../../core/shared-budget.ts";
import {
  type Claim,
  FIRST_FENCE,
  type ReadOptions,
  type RunQuery,
  type RunRecord,
  type Store,
} from "../../../core/store.ts";
import type { Totals, TotalsQuery } from "../../../core/totals.ts";
import { quietClock } from "../../../machine/host.ts";
import { openSharedBudget } from "../shared-budget.ts";
import { SqliteSharedBudgets } from "./budget.ts";
import { SqliteClaims } from "./claims.ts";
import { loadSqlite, SqliteConnection } from "./connection.ts";
import { deleteTree, pruneTrees, type SqliteDeletion } from "./delete.ts";
import { createPrivateFile, type DatabaseFile, faultOf, findDatabase, makeDatabase } from "./file.ts";
import { SqliteLosses } from "./lost.ts";
import { SqliteReader } from "./reader.ts";
import { checkIsOurs, hasJournal, prepareSchema } from "./schema.ts";
import { SqliteWriter } from "./writer.ts";

/** Options for opening a SQLite file. */
export type SqliteStoreOptions = {
  /** For looking at what is there: nothing is written and nothing is created. */
  readOnly?: boolean | undefined;
  /**
   * Stored events survive the death of the process at any point. With `full` they also survive that of the machine, and a
   * commit takes as long as the disk needs. `normal` when unset.
   */
  synchronous?: "normal" | "full" | undefined;
  /** Max milliseconds to wait for another process that writes; 5 seconds when unset. */
  busyTimeoutMs?: number | undefined;
  /**
   * The folder for notes that a run continued while the database could not be written, when that cannot be noted beside it: such a
   * run is not resumed. `sous/lost` in the user's folder for state when unset.
   */
  lostFolder?: string | undefined;
  /** The machine's own when unset. */
  clock?: Pick<Clock, "now" | "timer"> | undefined;
};

const OPTIONS: OptionNames<SqliteStoreOptions> = {
  ...{ readOnly: true, synchronous: true, busyTimeoutMs: true, lostFolder: true, clock: true },
};

/** A store in a SQLite file. */
export type SqliteStore = Store &
  SharedBudgets & {
    /** Absolute. */
    readonly file: string;
    /** Writes a consistent copy into a new file, while runs continue. */
    backup(to: string): Promise<void>;
    /** Gives the space of what was deleted back to the disk. */
    vacuum(): Promise<void>;
  };

/**
 * Opens the database in this file, or makes it. Throws a `UserError` when there is something else, and a `StoreError` when
 * it cannot be read or written; nothing is overwritten.
 */
export async function openSqliteStore(file: string, options: SqliteStoreOptions = {}): Promise<SqliteStore> {
  checkOptions("openSqliteStore()", options, OPTIONS);
  const { readOnly = false, synchronous = "normal", busyTimeoutMs = 5_000, lostFolder, clock = quietClock } = options;
  checkWord("synchronous", synchronous, ["normal", "full"]);
  checkWhole("busyTimeoutMs", busyTimeoutMs, 0, 2 ** 31 - 1);
  if (readOnly && hasJournal(file)) await undoCutWrite(file);
  const found = readOnly ? existing(file) : makeDatabase(file);
  if (!found.isEmpty) checkIsOurs(found.file);
  const connection = new SqliteConnection(found, { readOnly, synchronous, busyTimeoutMs, now: clock.now });
  try {
    prepareSchema(connection);
    if (!readOnly) await connection.useLog();
  } catch (error) {
    connection[Symbol.dispose]();
    throw error;
  }
  const losses = new SqliteLosses(connection, lostFolder);
  if (!readOnly) ifItCan(() => losses.takeIn());
  return new SqliteFileStore(connection, losses, clock);
}

class SqliteFileStore implements SqliteStore {
  readonly isImmediate = false;
  readonly file: string;
  readonly #connection: SqliteConnection;
  readonly #losses: SqliteLosses;
  readonly #claims: SqliteClaims;
  readonly #sharedBudgets: SqliteSharedBudgets;
  readonly #writer: SqliteWriter;
  readonly #reader: SqliteReader;
  readonly #deletion: SqliteDeletion;

  constructor(connection: SqliteConnection, losses: SqliteLosses, clock: Pick<Clock, "now" | "timer">) {
    this.file = connection.file;
    this.#connection = connection;
    this.#losses = losses;
    this.#claims = new SqliteClaims(connection, clock);
    this.#sharedBudgets = new SqliteSharedBudgets(connection, this.#claims.owner, clock);
    this.#writer = new SqliteWriter(connection, this.#claims);
    this.#reader = new SqliteReader(connection, this.#claims);
    this.#deletion = { connection, claims: this.#claims, reader: this.#reader };
  }

  append(rootId: string, events: readonly StoredEvent[], fence: number = FIRST_FENCE): void {
    this.#writer.append(rootId, events, fence);
  }

  async claim(rootId: string): Promise<Claim> {
    return this.#claims.claim(rootId);
  }

  async release(rootId: string, fence: number): Promise<void> {
    this.#claims.release(rootId, fence);
    this.#writer.release(rootId);
  }

  async markLost(rootId: string, reason: string): Promise<void> {
    this.#losses.mark(rootId, reason);
  }

  async read(rootId: string, options: ReadOptions = {}): Promise<readonly StoredEvent[]> {
    return this.#reader.read(rootId, options);
  }

  async run(runId: string): Promise<RunRecord | undefined> {
    const record = this.#reader.run(runId);
    return record && this.#losses.addTo([record])[0];
  }

  async list(query: RunQuery = {}): Promise<RunRecord[]> {
    return this.#losses.addTo(this.#reader.list(query));
  }

  async children(runId: string): Promise<RunRecord[]> {
    return this.#reader.children(runId);
  }

  async tree(rootId: string): Promise<RunRecord[]> {
    return this.#losses.addTo(this.#reader.tree(rootId));
  }

  async totals(query: TotalsQuery = {}): Promise<Totals> {
    const totals = this.#reader.totals(query);
    this.#losses.addTo(totals.unended);
    return totals;
  }

  async delete(rootId: string): Promise<boolean> {
    this.#writer.release(rootId);
    const isDeleted = deleteTree(this.#deletion, rootId);
    if (isDeleted) this.#losses.delete(rootId);
    return isDeleted;
  }

  async prune(before: number): Promise<number> {
    return pruneTrees(this.#deletion, before);
  }

  sharedBudget(name: string, limits?: SharedLimits, options?: SharedBudgetOptions): Promise<SharedBudget> {
    return openSharedBudget(this.#sharedBudgets, name, limits, options);
  }

  async backup(to: string): Promise<void> {
    await copyDatabase(this.#connection, to, (copy) => this.#losses.noteIn(copy));
  }

  async vacuum(): Promise<void> {
    this.#connection.alone("VACUUM");
    this.#connection.alone("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      ifItCan(() => this.#losses.catchUp());
      ifItCan(() => this.#sharedBudgets.close());
      ifItCan(() => this.#claims.releaseAll());
    } finally {
      this.#connection[Symbol.dispose]();
    }
  }
}

/** A file that can no longer be written can still be closed: other processes wait until its leases end. */
function ifItCan(giveBack: () => void): void {
  try {
    giveBack();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}

/** A write that was cut off has to be undone before anyone can read. When that cannot be, opening it says why. */
async function undoCutWrite(file: string): Promise<void> {
  try {
    await (await openSqliteStore(file))[Symbol.asyncDispose]();
  } catch (error) {
    if (!(error instanceof StoreError || error instanceof UserError)) throw error;
  }
}

function existing(file: string): DatabaseFile {
  const found = findDatabase(file, true);
  if (found === undefined || found.isEmpty)
    throw new UserError(`There is no database at ${file}: run an agent first, or give another file with --db-path`);
  return found;
}

/** Pages copied between two looks at what else is to be done. */
const PAGES_AT_ONCE = 1_000;

/**
 * `complete` adds to the copy what is not in the database itself. Throws a `UserError` when there is something at the path
 * already; when it fails, nothing is left there.
 */
async function copyDatabase(connection: SqliteConnection, to: string, complete: (copy: string) => void): Promise<void> {
  const file = resolve(to);
  const names = [file, `${file}-wal`, `${file}-shm`, `${file}-journal`];
  // A log that lies beside the copy would be taken for its own.
  for (const name of names) {
    if (lstatSync(name, { throwIfNoEntry: false }) !== undefined)
      throw new UserError(`${name} exists already: give a new file for the copy`);
  }
  createPrivateFile(file, false);
  const source = connection.snapshot();
  try {
    await loadSqlite().backup(source, file, { rate: PAGES_AT_ONCE });
    complete(file);
  } catch (error) {
    for (const name of names) rmSync(name, { force: true });
    throw faultOf(error, file);
  } finally {
    source.close();
  }
}
