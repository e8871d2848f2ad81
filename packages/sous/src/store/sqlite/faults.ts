/** What SQLite and the file system say, in one sentence that says what to do. */

import { messageOf, StoreError, UserError } from "../../core/errors.ts";

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

export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === CODES.busy;
}

export function isCorrupt(error: unknown): boolean {
  return sqliteCode(error) === CODES.corrupt;
}

export function isNotADatabase(error: unknown): boolean {
  return sqliteCode(error) === CODES.notADatabase;
}

/** The code that SQLite gave, without its details; undefined when something else went wrong. */
function sqliteCode(error: unknown): number | undefined {
  const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
  return typeof code === "number" ? code & 0xff : undefined;
}
