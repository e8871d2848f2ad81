/** Whose database lies in a file, as far as that can be told without locking it or finishing what was cut off in it. */

import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { UserError } from "../../core/errors.ts";
import { loadSqlite } from "./connection.ts";
import { faultOf, isCorrupt, isNotADatabase } from "./faults.ts";

export type DatabaseHeader = { readonly applicationId: number; readonly version: number };

/**
 * Undefined when only opening it can tell: a checkpoint that was cut off, or is running, leaves a first page that names more
 * pages than the file has, and a write that was cut off is undone first.
 *
 * Read by SQLite: were the file opened and closed in another way, this process would lose the locks of its other connections.
 */
export function readHeader(file: string): DatabaseHeader | undefined {
  const { DatabaseSync } = loadSqlite();
  const url = pathToFileURL(file);
  url.searchParams.set("immutable", "1");
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(url, { readOnly: true });
    const applicationId = Number(database.prepare("PRAGMA application_id").get()?.application_id);
    const version = Number(database.prepare("PRAGMA user_version").get()?.user_version);
    return applicationId === 0 && isUnfinished(file) ? undefined : { applicationId, version };
  } catch (error) {
    if (isCorrupt(error)) return undefined;
    if (isNotADatabase(error)) return isUnfinished(file) ? undefined : { applicationId: 0, version: 0 };
    throw faultOf(error, file);
  } finally {
    database?.close();
  }
}

/** True when the file was not yet made, or is being made. */
function isUnfinished(file: string): boolean {
  return hasJournal(file) || statSync(file).size === 0;
}

/** True when a write to the file was cut off, or is running: what it changed is in a journal, and can be undone. */
export function hasJournal(file: string): boolean {
  return bytesAt(`${file}-journal`, "first")?.equals(MAGIC) === true;
}

/** A journal of ours never names another one, and the SQLite of Node 22 deletes whatever file a journal names. */
export function checkJournal(file: string): void {
  if (!hasJournal(file) || bytesAt(`${file}-journal`, "last")?.equals(MAGIC) !== true) return;
  throw new UserError(
    `${file}-journal names another file, as sous never does: move it away, or give another --db-path`,
  );
}

/** How a journal begins, and how one ends that names another. */
const MAGIC = Buffer.from("d9d505f920a163d7", "hex");

/** Undefined when there are none. */
function bytesAt(file: string, place: "first" | "last"): Buffer | undefined {
  let descriptor: number;
  try {
    // A pipe in its place would be waited for.
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch {
    return undefined;
  }
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) return undefined;
    const bytes = Buffer.alloc(MAGIC.length);
    const position = place === "first" ? 0 : Math.max(0, found.size - bytes.length);
    return readSync(descriptor, bytes, 0, bytes.length, position) === bytes.length ? bytes : undefined;
  } finally {
    closeSync(descriptor);
  }
}
