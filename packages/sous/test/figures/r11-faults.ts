/**
 * Four real ways in which a write to a database fails. Only for a process of its own: two of them limit the size of every
 * file it writes.
 */

import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { importWithout } from "../support/mutation.ts";

export type Way = "error" | "short write" | "busy" | "disk full";

/** Only Linux lets a running process limit the size of its files; elsewhere there are two ways less. */
export const WAYS: readonly Way[] =
  process.platform === "linux" ? ["error", "short write", "busy", "disk full"] : ["busy", "disk full"];

/** Something that makes writes fail until it is disposed. */
export type Fault = Disposable;

type SqliteModule = typeof import("../../src/storage/store/sqlite/store.ts");

/** The connection of the store that was opened last, which only the store itself has. */
let connection: DatabaseSync | undefined;

/** The store as it is, but for one line that tells of its connection. */
export async function importStore(): Promise<SqliteModule> {
  Object.assign(globalThis, {
    sousConnection(opened: DatabaseSync) {
      connection = opened;
    },
  });
  return importWithout<SqliteModule>(import.meta.resolve("../../src/storage/store/sqlite/store.ts"), {
    guard: "open-database",
    replace: "this.#database = this.#open(); globalThis.sousConnection(this.#database);",
  });
}

export function fail(way: Way, file: string): Fault {
  switch (way) {
    case "error":
      return limitFiles(sizeOf(`${file}-wal`));
    case "short write":
      // The head of a frame and half of its page.
      return limitFiles(sizeOf(`${file}-wal`) + 24 + 2_000);
    case "busy":
      return lock(file);
    case "disk full":
      return limitPages();
    default:
      return way satisfies never;
  }
}

/** The kernel writes up to the limit and refuses the rest. It also sends a signal, whose default is to end the process. */
function limitFiles(bytes: number): Fault {
  process.on("SIGXFSZ", ignore);
  setLimit(String(bytes));
  return {
    [Symbol.dispose]() {
      setLimit("unlimited");
      process.off("SIGXFSZ", ignore);
    },
  };
}

/** The soft limit alone: it can be raised again. `prlimit` is part of util-linux. */
function setLimit(limit: string): void {
  execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${limit}:`]);
}

function lock(file: string): Fault {
  const other = new DatabaseSync(file);
  other.exec("BEGIN IMMEDIATE");
  return { [Symbol.dispose]: () => other.close() };
}

/** SQLite itself reports a full disk when a transaction needs a page more than there may be. */
function limitPages(): Fault {
  const limited = connection;
  limited?.exec("PRAGMA max_page_count = 1");
  return { [Symbol.dispose]: () => limited?.exec("PRAGMA max_page_count = 4294967294") };
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function ignore(): void {}
