/** Deletes whole trees of a database, with the long texts that nothing else refers to. */

import { checkTime } from "../../../core/errors.ts";
import { blobsOf, fromColumn } from "../event-row.ts";
import { DELETE_TREE_BUDGETS } from "./budget.ts";
import type { SqliteClaims } from "./claims.ts";
import type { SqliteConnection } from "./connection.ts";
import { deleteMail } from "./placing-tables.ts";
import type { SqliteReader } from "./reader.ts";
import { FIND_COLUMN_BLOBS, releaseBlob } from "./run-row.ts";
import { MAX_VALUE_BYTES } from "./schema.ts";
import { tallyInterrupted } from "./tallies.ts";

/** The parts of a store that deleting needs. */
export type SqliteDeletion = {
  readonly connection: SqliteConnection;
  readonly claims: SqliteClaims;
  readonly reader: SqliteReader;
};

/** Returns the journals that are gone; none when there is no such tree. Throws a `UserError` when a process works on it. */
export function deleteTree(deletion: SqliteDeletion, rootId: string): string[] {
  const { connection, claims } = deletion;
  return connection.write(() => {
    const journals = claims.journalsOf(rootId);
    for (const journal of journals) claims.checkFree(journal);
    // The journals below come first: their totals name the folder of the root.
    for (const { number } of journals.toReversed()) deleteRows(deletion, number);
    return journals.map(({ id }) => id);
  });
}

/** Deletes the trees whose root started before this time and that no process works on; one at a time, so that others can write between. */
export function pruneTrees(deletion: SqliteDeletion, before: number): number {
  checkTime("before", before);
  const { connection, claims } = deletion;
  const old = connection.read(() => connection.prepare(FIND_OLD).all(before));
  let pruned = 0;
  for (const { number } of old) {
    connection.write(() => {
      // The row is read again behind the lock: another process may have deleted it, and another tree may have its number.
      const old = connection.prepare(IS_OLD).get(number ?? null, before);
      const journals = old === undefined ? [] : claims.journalsOf(fromColumn(String(old.id)));
      if (journals.length === 0 || journals.some((journal) => claims.isAtWork(journal))) return;
      for (const journal of journals.toReversed()) deleteRows(deletion, journal.number);
      pruned += 1;
    });
  }
  return pruned;
}

function deleteRows({ connection, reader }: SqliteDeletion, tree: number): void {
  for (const [number, run] of reader.unendedOf(tree)) tallyInterrupted(connection, number, run);
  for (const { json } of connection.prepare(FIND_WITH_BLOBS).iterate(tree)) {
    for (const hash of blobsOf(String(json))) releaseBlob(connection, hash);
  }
  for (const { hash } of connection.prepare(FIND_COLUMN_BLOBS).all(tree)) releaseBlob(connection, String(hash));
  connection.prepare("DELETE FROM events WHERE key >= ?1 << 28 AND key < (?1 + 1) << 28").run(tree);
  const root = connection.prepare("SELECT id FROM runs WHERE number = ?").get(tree);
  for (const sql of DELETE_TREE_BUDGETS) connection.prepare(sql).run(String(root?.id));
  connection.prepare("DELETE FROM runs WHERE root = ?").run(tree);
  deleteMail(connection, tree);
}

const FIND_OLD = "SELECT number FROM runs WHERE parent IS NULL AND started_at < ? AND root = number";
const IS_OLD = "SELECT id FROM runs WHERE number = ? AND started_at < ? AND root = number";
const FIND_WITH_BLOBS = `SELECT json FROM events WHERE key >= ?1 << 28 AND key < (?1 + 1) << 28
AND substr(json, 1, 1) = '[' AND octet_length(json) <= ${MAX_VALUE_BYTES}`;
