/** The file of a database: what it may be, how a new one is made that only its owner can read, and its faults in words. */

import { accessSync, chmodSync, closeSync, constants, lstatSync, mkdirSync, openSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";
import { codeOf, messageOf, StoreError, UserError } from "../../../core/errors.ts";

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

/** Identifies the file that is there now; undefined when there is none. */
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

/** The primary result codes of SQLite, as the last byte of what it reports. */
const CODES = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const;

/** A fault in the words of the store. Ours are passed on as they are. */
export function faultOf(error: unknown, file: string): Error {
  if (error instanceof StoreError || error instanceof UserError) return error;
  return new StoreError(sentenceOf(error, file), { cause: error });
}

function sentenceOf(error: unknown, file: string): string {
  const said = messageOf(error);
  switch (sqliteCode(error)) {
    case CODES.busy:
    case CODES.locked:
      return `${file} is locked by another program: close that program, or wait until it is done`;
    case CODES.readOnly:
      return `${file} cannot be written (${said}): make it and its folder writable`;
    case CODES.io:
      return `${file} cannot be read or written (${said}): check its disk`;
    case CODES.corrupt:
    case CODES.notADatabase:
      return `${file} is damaged (${said}): restore a copy, or give another file with --db-path`;
    case CODES.full:
      return `There is no space left for ${file}: make room on its disk`;
    case CODES.cannotOpen:
      return `${file} cannot be opened (${said}): check that its folder exists and that you may use it`;
    default:
      return `${file} cannot be used: ${said}`;
  }
}

export function hasCode(error: unknown, code: keyof typeof CODES): boolean {
  return sqliteCode(error) === CODES[code];
}

/** The code that SQLite gave, without its details; undefined when something else went wrong. */
function sqliteCode(error: unknown): number | undefined {
  const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
  return typeof code === "number" ? code & 0xff : undefined;
}
