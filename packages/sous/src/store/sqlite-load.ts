/** Loads `node:sqlite` late, because it takes time, and quietly, because Node 22 calls it experimental. */

import type * as Sqlite from "node:sqlite";
import { UserError } from "../core/errors.ts";

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
