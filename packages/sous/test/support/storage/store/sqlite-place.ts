/** A fresh folder for databases of one test: opens stores in it, looks into files behind their back, and removes it all. */

import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import {
  openSqliteStore,
  type SqliteStore,
  type SqliteStoreOptions,
} from "../../../../src/storage/store/sqlite/store.ts";

export type SqlitePlace = AsyncDisposable & {
  readonly folder: string;
  /** The database that `open` opens. */
  readonly file: string;
  open(options?: SqliteStoreOptions): Promise<SqliteStore>;
  /** What a query finds in the file, whether or not a store has it open. */
  query(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[];
  /** Changes the file as a forger could. */
  tamper(sql: string): void;
  /** Every file in the folder with its mode and its bytes. */
  image(): Record<string, string>;
};

export function sqlitePlace(): SqlitePlace {
  const folder = mkdtempSync(join(tmpdir(), "sous-sqlite-"));
  const file = join(folder, "runs.db");
  const stores: SqliteStore[] = [];
  return {
    folder,
    file,
    async open(options) {
      const store = await openSqliteStore(file, options);
      stores.push(store);
      return store;
    },
    query(sql, ...values) {
      using database = new DatabaseSync(file, { readOnly: true });
      return database
        .prepare(sql)
        .all(...values)
        .map((row) => ({ ...row }));
    },
    tamper(sql) {
      using database = new DatabaseSync(file);
      database.exec(`PRAGMA writable_schema = ON; ${sql}; PRAGMA wal_checkpoint(TRUNCATE)`);
    },
    image() {
      const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
      return Object.fromEntries(names.map((name) => [name, describe(join(folder, name))]));
    },
    async [Symbol.asyncDispose]() {
      for (const store of stores) await store[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function describe(path: string): string {
  const found = lstatSync(path);
  const content = found.isFile() ? readFileSync(path, "base64") : found.isSymbolicLink() ? readlinkSync(path) : "";
  return `${found.mode.toString(8)} ${content}`;
}
