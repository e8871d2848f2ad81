/** The store of one machine: a SQLite database in a file, for any number of processes. */

import { lstatSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Clock } from "../../../core/clock.ts";
import type { PlacingStore } from "../../../core/engine.ts";
import { StoreError, UserError } from "../../../core/errors.ts";
import { FLAG, type OptionKinds, TEXT, wholeNumber, withFunctions, wordOf } from "../../../core/option-kinds.ts";
import { checkOptions } from "../../../core/options.ts";
import type { BudgetRows, SharedBudgets } from "../../../core/shared-budget.ts";
import { FIRST_FENCE, type Store } from "../../../core/store.ts";
import { quietClock } from "../../../machine/host.ts";
import { toColumn } from "../event-row.ts";
import { Losses, LostMarks, marksIn } from "../lost-marks.ts";
import { openSharedBudget } from "../shared-budget.ts";
import { createBudgetRows } from "./budget.ts";
import { SqliteClaims } from "./claims.ts";
import { loadSqlite, SqliteConnection } from "./connection.ts";
import { deleteTree, pruneTrees } from "./delete.ts";
import { createPrivateFile, type DatabaseFile, faultOf, findDatabase, makeDatabase } from "./file.ts";
import { sqlitePlacing } from "./placing.ts";
import { SqliteReader } from "./reader.ts";
import { checkIsOurs, hasJournal, prepareSchema } from "./schema.ts";
import { SqliteWriter } from "./writer.ts";

/** Options for opening a SQLite file. */
export type SqliteStoreOptions = {
  /** True to look at what is there: nothing is written and nothing is created. */
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

const OPTIONS: OptionKinds<SqliteStoreOptions> = {
  readOnly: FLAG,
  synchronous: wordOf("normal", "full"),
  busyTimeoutMs: wholeNumber(0, 2 ** 31 - 1),
  lostFolder: TEXT,
  clock: withFunctions("now", "timer"),
};

/** A store in a SQLite file. */
export type SqliteStore = Store &
  SharedBudgets &
  PlacingStore & {
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
  const losses = lossesOf(connection, lostFolder);
  if (!readOnly) await ifItCan(() => losses.takeIn());
  return storeOn(connection, losses, clock);
}

function storeOn(
  connection: SqliteConnection,
  losses: Losses,
  clock: Pick<Clock, "now" | "timer">,
): SqliteStore & { readonly budgetRows: BudgetRows } {
  const claims = new SqliteClaims(connection, clock);
  const budgetRows = createBudgetRows(connection, claims.owner, clock);
  const writer = new SqliteWriter(connection, claims, (journalId) => placing.tell({ kind: "ended", journalId }));
  const reader = new SqliteReader(connection, claims);
  const placing = sqlitePlacing({ connection, claims, writer, marks: losses.marks, clock });
  return {
    isImmediate: false,
    file: connection.file,
    append: (rootId, events, fence = FIRST_FENCE) => writer.append(rootId, events, fence),
    claim: async (rootId) => claims.claim(rootId),
    placing,
    async release(journalId, fence) {
      if (claims.release(journalId, fence)) placing.tell({ kind: "placed", journalId });
      writer.release(journalId);
    },
    markLost: (rootId, reason) => losses.mark(rootId, reason),
    read: async (rootId, options = {}) => reader.read(rootId, options),
    async run(runId) {
      const record = reader.run(runId);
      return record && losses.addTo(record);
    },
    list: async (query = {}) => reader.list(query).map(losses.addTo),
    children: async (runId) => reader.children(runId),
    tree: async (rootId) => reader.tree(rootId).map(losses.addTo),
    async totals(query = {}) {
      const totals = reader.totals(query);
      return { ...totals, unended: totals.unended.map(losses.addTo) };
    },
    async delete(rootId) {
      const deleted = deleteTree({ connection, claims, reader }, rootId);
      for (const journalId of deleted) {
        writer.release(journalId);
        losses.marks.remove(journalId);
      }
      return deleted.length > 0;
    },
    prune: async (before) => pruneTrees({ connection, claims, reader }, before),
    sharedBudget: (name, limits, options) => openSharedBudget(budgetRows, name, limits, options),
    budgetRows,
    backup: (to) => copyDatabase(connection, to, losses.marks),
    async vacuum() {
      connection.alone("VACUUM");
      connection.alone("PRAGMA wal_checkpoint(TRUNCATE)");
    },
    async [Symbol.asyncDispose]() {
      try {
        placing[Symbol.dispose]();
        await losses.catchUp();
        await ifItCan(() => budgetRows.leave());
        await ifItCan(() => claims.releaseAll());
      } finally {
        connection[Symbol.dispose]();
      }
    },
  };
}

/** A file that can no longer be written can still be closed: other processes wait until its leases end. */
async function ifItCan(giveBack: () => void | Promise<void>): Promise<void> {
  try {
    await giveBack();
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

/** Throws a `UserError` when there is something at the path already; when it fails, nothing is left there. */
async function copyDatabase(connection: SqliteConnection, to: string, marks: LostMarks): Promise<void> {
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
    noteLosses(file, marks);
  } catch (error) {
    for (const name of names) rmSync(name, { force: true });
    throw faultOf(error, file);
  } finally {
    source.close();
  }
}

/** A copy of a database has no marks beside it. */
function noteLosses(copy: string, marks: LostMarks): void {
  const marked = marks.rootIds();
  if (marked.length === 0) return;
  const { DatabaseSync } = loadSqlite();
  const database = new DatabaseSync(copy);
  try {
    for (const rootId of marked)
      database.prepare(MARK_LOST).run(toColumn(marks.reasonFor(rootId) ?? ""), toColumn(rootId));
  } finally {
    database.close();
  }
}

/** `folder` is for marks that cannot be made beside the database. */
function lossesOf(connection: SqliteConnection, folder: string | undefined): Losses {
  const { file, isReadOnly } = connection;
  const beside = { folder: dirname(file), prefix: `${basename(file)}-lost-` };
  // The same for every process, by whichever path it opens the file.
  const address = join(realpathSync(dirname(file)), basename(file));
  const marks = new LostMarks([beside, ...marksIn(folder, address)], isReadOnly);
  return new Losses(marks, (rootId, reason) => {
    const note = () => connection.prepare(MARK_LOST).run(toColumn(reason), toColumn(rootId));
    return connection.write(note).changes !== 0;
  });
}

const MARK_LOST = "UPDATE runs SET lost = ifnull(lost, ?) WHERE id = ? AND root = number";
