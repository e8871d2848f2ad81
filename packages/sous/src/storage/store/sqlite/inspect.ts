/** Inspects a database as it is, without writing or waiting. */

import { systemClock } from "../../../machine/host.ts";
import { SqliteConnection } from "./connection.ts";
import { findDatabase } from "./file.ts";
import { checkIsOurs } from "./schema.ts";

type DatabaseFacts = {
  readonly bytes: number;
  readonly version: number;
  readonly runs: number;
  /** The damage that the check found; undefined when there is none, or when it was not made. */
  readonly damage: string | undefined;
  /** False for a file too large to be checked while a person waits. */
  readonly isChecked: boolean;
};

const MAX_CHECKED_BYTES = 256 * 1024 * 1024;

/** Undefined when there is none. Throws a `UserError` or a `StoreError` that says why it cannot be used. */
export function inspectDatabase(file: string): DatabaseFacts | undefined {
  const found = findDatabase(file, true);
  if (found === undefined || found.isEmpty) return undefined;
  checkIsOurs(found.file);
  using connection = new SqliteConnection(found, {
    readOnly: true,
    synchronous: "normal",
    busyTimeoutMs: 1_000,
    now: systemClock.now,
  });
  return connection.read(() => {
    const value = (sql: string): unknown => Object.values(connection.prepare(sql).get() ?? {})[0];
    const bytes = Number(value("PRAGMA page_count")) * Number(value("PRAGMA page_size"));
    const isChecked = bytes <= MAX_CHECKED_BYTES;
    const verdict = isChecked ? String(value("PRAGMA quick_check(1)")) : "ok";
    return {
      bytes,
      version: Number(value("PRAGMA user_version")),
      runs: Number(value("SELECT count(*) FROM runs")),
      damage: verdict === "ok" ? undefined : verdict,
      isChecked,
    };
  });
}
