/** The file of a database: what it may be, and how a new one is made that only its owner can read. */

import { accessSync, chmodSync, closeSync, constants, lstatSync, mkdirSync, openSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";
import { codeOf, messageOf, UserError } from "../../core/errors.ts";

export type DatabaseFile = {
  /** Absolute. */
  readonly file: string;
  /** True when there is nothing in it yet. */
  readonly isEmpty: boolean;
  readonly identity: string;
};

/** Finds out what the path of the database names and changes nothing. Throws a `UserError` when it cannot be one. */
export function findDatabase(given: string, readOnly: boolean): DatabaseFile | undefined {
  const file = resolvePath(given);
  const found = look(file);
  for (const each of [file, `${file}-wal`, `${file}-shm`, `${file}-journal`]) checkRegular(each, look(each));
  if (found === undefined) return undefined;
  checkAccess(file, readOnly ? constants.R_OK : constants.R_OK | constants.W_OK);
  if (!readOnly) checkAccess(dirname(file), constants.W_OK | constants.X_OK);
  return { file, isEmpty: found.size === 0, identity: `${found.dev}/${found.ino}` };
}

/** The same, and when there is nothing an empty file that no other user may read, with the folders above it. */
export function makeDatabase(given: string): DatabaseFile {
  const found = findDatabase(given, false);
  if (found !== undefined) {
    if (found.isEmpty) inWords(`${found.file} cannot be made private`, () => chmodSync(found.file, 0o600));
    return found;
  }
  createPrivateFile(resolvePath(given));
  return makeDatabase(given);
}

/** Throws a `UserError` when there is something already and `mayExist` does not say that this is fine. */
export function createPrivateFile(file: string, mayExist = true): void {
  inWords(`${file} cannot be created`, () => {
    makeFolders(dirname(file));
    try {
      closeSync(openSync(file, "wx", 0o600));
    } catch (error) {
      if (!(mayExist && codeOf(error) === "EEXIST")) throw error;
    }
  });
}

/** Folder by folder: Node's own way of making them all never ends where nothing can be made, as below `/proc`. */
export function makeFolders(folder: string): void {
  if (lstatSync(folder, { throwIfNoEntry: false }) !== undefined) return;
  makeFolders(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process was faster.
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

/** Which file is there now; undefined when there is none. */
export function identityOf(file: string): string | undefined {
  const found = lstatSync(file, { throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}/${found.ino}`;
}

function resolvePath(given: string): string {
  if (given === "" || given === ":memory:" || given.includes("\0")) {
    throw new UserError(`${JSON.stringify(given)} is not a path: give the path of a file`);
  }
  return resolve(given);
}

function look(file: string): Stats | undefined {
  return inWords(`${file} cannot be looked at`, () => lstatSync(file, { throwIfNoEntry: false }));
}

function checkRegular(file: string, found: Stats | undefined): void {
  if (found === undefined || found.isFile()) return;
  throw new UserError(`${file} is ${kindOf(found)} and not a database: give another file with --db-path`);
}

function kindOf(found: Stats): string {
  if (found.isSymbolicLink()) return "a symbolic link";
  if (found.isDirectory()) return "a directory";
  if (found.isFIFO()) return "a named pipe";
  if (found.isSocket()) return "a socket";
  return "a device";
}

function checkAccess(path: string, mode: number): void {
  inWords(`${path} cannot be used`, () => accessSync(path, mode));
}

function inWords<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    throw new UserError(`${what} (${messageOf(error)}): give another file with --db-path`, { cause: error });
  }
}
