/** Inspects a database as it is, without writing or waiting. */

import { missingEvent } from "../../../core/store.ts";
import { systemClock } from "../../../machine/host.ts";
import { LAST_SEQ } from "../event-schema.ts";
import { SqliteConnection } from "./connection.ts";
import { eventsIn } from "./events.ts";
import { findDatabase } from "./file.ts";
import { blobReader, parseRunRow, SELECT_RUNS } from "./run-row.ts";
import { checkIsOurs, SCHEMA_VERSION } from "./schema.ts";
import { readTallies } from "./tallies.ts";

type DatabaseFacts = {
  readonly bytes: number;
  readonly version: number;
  readonly runs: number;
  /** The damage that the check found; undefined when there is none, or when it was not made. */
  readonly damage: string | undefined;
  /** Runs with a row or an event that cannot be read; the other runs can be used. Of a file that is not checked only runs without an end are looked at. */
  readonly damagedRuns: readonly DamagedRun[];
  /** Lines of the totals that cannot be read; 0 when the check was not made. */
  readonly damagedLines: number;
  /** False for a file too large to be checked while a person waits. */
  readonly isChecked: boolean;
};

type DamagedRun = { readonly id: string; readonly reason: string };

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
    const version = Number(value("PRAGMA user_version"));
    // The rows of an older version lack columns until the file is opened for writing.
    const isReadable = verdict === "ok" && version === SCHEMA_VERSION;
    return {
      bytes,
      version,
      runs: Number(value("SELECT count(*) FROM runs")),
      damage: verdict === "ok" ? undefined : verdict,
      damagedRuns: isReadable ? damagedRunsIn(connection, isChecked ? "" : UNENDED) : [],
      damagedLines: isReadable && isChecked ? damagedLinesIn(connection) : 0,
      isChecked,
    };
  });
}

/** Reads the rows of these runs and every event of their trees; part of a transaction that is open. */
function damagedRunsIn(connection: SqliteConnection, where: string): DamagedRun[] {
  const found = new Map<string, string>();
  const trees = new Map<number, { rootId: string; ids: Map<number, string> }>();
  const blob = blobReader(connection);
  for (const row of connection.prepare(`${SELECT_RUNS} ${where}`).iterate()) {
    const { tree, number, record } = parseRunRow(row, blob);
    const known = trees.get(tree) ?? { rootId: record.journalId, ids: new Map<number, string>() };
    trees.set(tree, known);
    known.ids.set(number, record.id);
    if (record.damage !== undefined) found.set(record.id, record.damage);
  }
  for (const [tree, { rootId, ids }] of trees) {
    const before = found.size;
    const note = ({ message }: Error, run = tree): void => {
      const id = ids.get(run) ?? rootId;
      found.set(id, found.get(id) ?? message);
    };
    const events = eventsIn(connection, { tree, from: 0, to: LAST_SEQ }, note).map(({ seq }) => ({ seq }));
    const missing = missingEvent(rootId, events.toArray());
    if (missing !== undefined && found.size === before) note(missing);
  }
  return [...found].map(([id, reason]) => ({ id, reason }));
}

/** These are found by an index, and are the ones that can be resumed. */
const UNENDED = "WHERE r.status = 'running' AND r.status <> 'completed'";

function damagedLinesIn(connection: SqliteConnection): number {
  const query = { since: Number.NEGATIVE_INFINITY, limit: LINES_AT_ONCE };
  let count = 0;
  for (let after: string | undefined; ; ) {
    const { damaged = 0, mark, isComplete } = readTallies(connection, { ...query, after });
    count += damaged;
    if (isComplete) return count;
    after = mark;
  }
}

const LINES_AT_ONCE = 10_000;
