/** Forgets whole trees of a database, with the long texts that nothing else refers to. */

import { blobsOf } from "./event-row.ts";
import { dropBlob } from "./sqlite-blobs.ts";
import type { SqliteClaims } from "./sqlite-claims.ts";
import type { SqliteConnection } from "./sqlite-connection.ts";
import { LARGEST_VALUE_BYTES } from "./sqlite-schema.ts";

/** False when there is no such tree. Throws a `UserError` when somebody works on it. */
export function forgetTree(connection: SqliteConnection, claims: SqliteClaims, rootId: string): boolean {
  return connection.write(() => {
    const tree = claims.find(rootId);
    if (tree === undefined) return false;
    claims.checkFree(rootId, tree);
    remove(connection, tree.number);
    return true;
  });
}

/** Forgets the trees whose root started before this time and nobody works on; one at a time, so that others can write between. */
export function forgetBefore(connection: SqliteConnection, claims: SqliteClaims, before: number): number {
  const old = connection.read(() => connection.prepare(FIND_OLD).all(before));
  let forgotten = 0;
  for (const { number } of old) {
    connection.write(() => {
      // Asked again behind the lock: by now somebody may have deleted it, and another tree may have its number.
      const isThere = connection.prepare(IS_OLD).get(number ?? null, before) !== undefined;
      if (!isThere || claims.isTreeAtWork(Number(number))) return;
      remove(connection, Number(number));
      forgotten += 1;
    });
  }
  return forgotten;
}

function remove(connection: SqliteConnection, tree: number): void {
  for (const { json } of connection.prepare(FIND_WITH_BLOBS).iterate(tree)) {
    for (const hash of blobsOf(String(json))) dropBlob(connection, hash);
  }
  for (const { hash } of connection.prepare(FIND_COLUMN_BLOBS).all(tree)) dropBlob(connection, String(hash));
  connection.prepare("DELETE FROM events WHERE key >= ?1 << 28 AND key < (?1 + 1) << 28").run(tree);
  connection.prepare("DELETE FROM runs WHERE root = ?").run(tree);
}

const FIND_OLD = "SELECT number FROM runs WHERE parent IS NULL AND started_at < ? AND root = number";
const IS_OLD = "SELECT 1 FROM runs WHERE number = ? AND started_at < ? AND root = number";
const FIND_WITH_BLOBS = `SELECT json FROM events WHERE key >= ?1 << 28 AND key < (?1 + 1) << 28
AND substr(json, 1, 1) = '[' AND octet_length(json) <= ${LARGEST_VALUE_BYTES}`;
const FIND_COLUMN_BLOBS = `SELECT hex(task) AS hash FROM runs WHERE root = ?1 AND typeof(task) = 'blob'
UNION ALL SELECT hex(summary_prompt) FROM runs WHERE root = ?1 AND typeof(summary_prompt) = 'blob'`;
