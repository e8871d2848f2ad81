/** One connection to a database: its settings, its prepared statements, and what happens all or not at all. */

import { lstatSync, statSync } from "node:fs";
import type * as Sqlite from "node:sqlite";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { StoreError, UserError } from "../../../core/errors.ts";
import { type DatabaseFile, faultOf, hasCode, identityOf } from "./file.ts";

type ConnectionOptions = {
  readonly readOnly: boolean;
  /** `normal` survives the death of the process at any point, `full` also that of the machine. */
  readonly synchronous: "normal" | "full";
  /** Max milliseconds to wait for another process that writes. */
  readonly busyTimeoutMs: number;
  readonly now: () => number;
};

/** Pages of the log (32 MB) after which it is copied into the database, which has to wait for the disk. */
const CHECKPOINT_PAGES = 8_000;
/** Milliseconds between two looks whether the file is still there: a look takes a tenth of the time of a commit. */
const CHECK_INTERVAL_MS = 1_000;
const BUSY_PAUSE_MS = 5;
/** Files that show that a process writes, or was cut off. */
const BESIDE: readonly string[] = ["-wal", "-journal"];

export class SqliteConnection implements Disposable {
  readonly file: string;
  readonly isReadOnly: boolean;
  readonly #options: ConnectionOptions;
  readonly #statements = new Map<string, StatementSync>();
  #database: DatabaseSync;
  /** Set while a file without a writer is read as it is, without a trace: how it looked then. */
  #stillImage: string | undefined;
  readonly #identity: string;
  #lastCheck = 0;

  constructor({ file, identity }: DatabaseFile, options: ConnectionOptions) {
    this.file = file;
    this.#identity = identity;
    this.isReadOnly = options.readOnly;
    this.#options = options;
    this.#database = this.#open(); // guard: open-database
  }

  /** The same statement for the same words; prepared once. */
  prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  /** The next write looks whether the file is still there, also right after another look. */
  lookAgain(): void {
    this.#lastCheck = Number.NEGATIVE_INFINITY;
  }

  /** Lets others read during a write; stays so. Here SQLite does not wait for others by itself. */
  async useLog(): Promise<void> {
    this.#checkWritable();
    const answer = await this.#onceFree(() => this.#database.prepare("PRAGMA journal_mode = WAL").get());
    if (answer?.journal_mode !== "wal")
      throw new StoreError(`${this.file} is on a disk that cannot share it: give another with --db-path`);
  }

  /** All of what `work` writes is kept, or nothing. */
  write<T>(work: () => T): T {
    this.#checkWritable();
    return this.#transaction("BEGIN IMMEDIATE", work);
  }

  /** One statement that is a transaction of its own. Returns how many rows it changed. */
  writeAtOnce(sql: string, values: readonly SQLInputValue[]): number {
    this.#checkWritable();
    return this.#inWords(() => Number(this.prepare(sql).run(...values).changes));
  }

  /** Everything `work` reads was there at the same moment. */
  read<T>(work: () => T): T {
    this.#checkOpen();
    for (;;) {
      // A mark that was given for one file says nothing about another, and a file without a name is never written again.
      if (this.isReadOnly && identityOf(this.file) !== this.#identity)
        throw new StoreError(
          `${this.file} was deleted or replaced while it was open: what is there now is read after a restart`,
        );
      const image = this.#stillImage;
      if (image === undefined) return this.#transaction("BEGIN", work);
      const outcome = attempt(() => this.#transaction("BEGIN", work));
      if (image === this.#imageOfFile()) return outcome();
      // Another process has written meanwhile: what was read may be half old and half new.
      this[Symbol.dispose]();
      this.#database = this.#open();
    }
  }

  /** Runs what cannot be part of a transaction. */
  alone(sql: string): void {
    this.#checkWritable();
    this.#inWords(() => this.#database.exec(sql));
  }

  /** A second connection that sees one moment and holds it until it is closed. */
  snapshot(): DatabaseSync {
    this.#checkOpen();
    return this.#inWords(() => {
      const { DatabaseSync } = loadSqlite();
      const database = new DatabaseSync(this.file, { readOnly: true });
      database.exec(`PRAGMA busy_timeout = ${this.#options.busyTimeoutMs}; BEGIN; SELECT 1 FROM sqlite_schema`);
      return database;
    });
  }

  [Symbol.dispose](): void {
    this.#statements.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #transaction<T>(begin: string, work: () => T): T {
    return this.#inWords(() => {
      this.prepare(begin).run();
      try {
        const result = work();
        this.prepare("COMMIT").run();
        return result;
      } finally {
        if (this.#database.isTransaction) this.prepare("ROLLBACK").run();
      }
    });
  }

  async #onceFree<T>(work: () => T): Promise<T> {
    const giveUpAt = performance.now() + this.#options.busyTimeoutMs;
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (!hasCode(error, "busy") || performance.now() >= giveUpAt) throw faultOf(error, this.file);
      }
      await pause(BUSY_PAUSE_MS);
    }
  }

  #inWords<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw faultOf(error, this.file);
    }
  }

  #checkWritable(): void {
    if (this.isReadOnly) throw new UserError(`${this.file} is open for reading only: open it without readOnly`);
    this.#checkOpen();
    const now = this.#options.now();
    if (now >= this.#lastCheck && now < this.#lastCheck + CHECK_INTERVAL_MS) return;
    // SQLite continues to write into a file without a name, where it could not be found.
    if (identityOf(this.file) !== this.#identity)
      throw new StoreError(
        `${this.file} was deleted or replaced while it was open: what happens now cannot be stored there`,
      );
    this.#lastCheck = now;
  }

  #checkOpen(): void {
    if (!this.#database.isOpen) throw new StoreError(`The store at ${this.file} is closed`);
  }

  #open(): DatabaseSync {
    for (;;) {
      // A file with nothing beside it is not being written: then it needs no locks, and leaves no files behind.
      const isStill = this.isReadOnly && BESIDE.every((end) => sizeOf(this.file + end) === 0);
      const image = isStill ? this.#imageOfFile() : undefined;
      this.#stillImage = image;
      try {
        return this.#inWords(() => this.#connect(isStill));
      } catch (error) {
        // Only what nothing has changed meanwhile can be called damaged.
        if (image === undefined || image === this.#imageOfFile()) throw error;
      }
    }
  }

  #connect(isStill: boolean): DatabaseSync {
    const { DatabaseSync } = loadSqlite();
    const { readOnly, synchronous, busyTimeoutMs } = this.#options;
    const url = pathToFileURL(this.file);
    if (isStill) url.searchParams.set("immutable", "1");
    const database = new DatabaseSync(url, { readOnly, enableForeignKeyConstraints: false });
    try {
      // The file may come from anyone: nothing in its schema may call what only we should.
      if ("enableDefensive" in database) database.enableDefensive(true);
      database.exec(`
        PRAGMA busy_timeout = ${busyTimeoutMs};
        PRAGMA trusted_schema = OFF;
        PRAGMA cell_size_check = ON;
        PRAGMA synchronous = ${synchronous};
        PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
        ${readOnly ? "PRAGMA query_only = ON;" : ""}`);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #imageOfFile(): string {
    const found = statSync(this.file, { bigint: true, throwIfNoEntry: false });
    if (found === undefined) return "none";
    const { dev, ino, size, mtimeNs } = found;
    return [dev, ino, size, mtimeNs, ...BESIDE.map((end) => sizeOf(this.file + end))].join();
  }
}

function sizeOf(file: string): number {
  return lstatSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Runs `work` now; the result or the error comes with the call of what is returned. */
function attempt<T>(work: () => T): () => T {
  try {
    const result = work();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Loads `node:sqlite` late, because it takes time, and quietly, because Node 22 calls it experimental. */
export function loadSqlite(): typeof Sqlite {
  const { emitWarning } = process;
  // Only while it loads, and only this warning: everything else is passed on.
  process.emitWarning = (...given: unknown[]) => {
    if (!String(given[0]).startsWith("SQLite is an experimental feature")) Reflect.apply(emitWarning, process, given);
  };
  try {
    const sqlite = process.getBuiltinModule("node:sqlite");
    if (sqlite === undefined) throw new UserError("This Node.js was built without SQLite: use another, or Postgres");
    return sqlite;
  } finally {
    process.emitWarning = emitWarning;
  }
}
