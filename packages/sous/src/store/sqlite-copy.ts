/** A consistent copy of a database, made while others go on writing. */

import { lstatSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { UserError } from "../core/errors.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";
import { faultOf } from "./sqlite-faults.ts";
import { createPrivateFile } from "./sqlite-file.ts";
import { loadSqlite } from "./sqlite-load.ts";

/** Pages copied between two looks at what else is to be done. */
const PAGES_AT_ONCE = 1_000;

/**
 * `complete` adds to the copy what is not in the database itself. Throws a `UserError` when there is something at the place
 * already; when it fails, nothing is left there.
 */
export async function copyDatabase(
  connection: SqliteConnection,
  to: string,
  complete: (copy: string) => void,
): Promise<void> {
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
