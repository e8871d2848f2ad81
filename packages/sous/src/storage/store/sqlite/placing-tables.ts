/** The parts of the schema for placed runs, which are never changed. */

import { fromColumn, toColumn } from "../event-row.ts";
import type { SqliteConnection } from "./connection.ts";

function column(definition: string) {
  return { name: "runs", sql: `ALTER TABLE runs ADD COLUMN ${definition}`, column: definition };
}

/**
 * In the row of the first run of a journal: `of_root` is the id of the root of its tree, when that is in another journal. `is_open` is
 * null for one that was not placed, and 0 when its first run has ended. `mail_seen` is the number of the last mail that it need not be
 * taken for again, and `worker` is its latest owner. `question` of mail is the part of the column `questions` that it answers.
 */
export const PLACING_PARTS = [
  column("of_root TEXT"),
  column("is_open INTEGER"),
  column("claims INTEGER"),
  column("mail_seen INTEGER"),
  column("worker TEXT"),
  { name: "journals_by_tree", sql: "CREATE INDEX journals_by_tree ON runs (of_root) WHERE of_root IS NOT NULL" },
  { name: "journals_by_parent", sql: "CREATE INDEX journals_by_parent ON runs (parent) WHERE of_root IS NOT NULL" },
  { name: "journals_open", sql: "CREATE INDEX journals_open ON runs (is_open) WHERE is_open = 1" },
  {
    name: "workers",
    sql: `CREATE TABLE workers (
  owner TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  agents TEXT NOT NULL,
  places INTEGER NOT NULL,
  folder TEXT,
  leased_until INTEGER NOT NULL
)`,
  },
  {
    name: "mail",
    sql: `CREATE TABLE mail (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL,
  kind TEXT NOT NULL,
  question TEXT,
  json TEXT NOT NULL
)`,
  },
  { name: "mail_by_run", sql: "CREATE INDEX mail_by_run ON mail (run, id)" },
];

/** Condition on the first run `t` of a journal: it was placed, and no process has taken it yet. */
export const IS_QUEUED = "(t.is_open IS 1 AND ifnull(t.fence, 0) = 0)";

/** As SQL: the numbers of the journals of the tree whose root has the id `?1`. */
export function journalsOf(rootId: string): string {
  return `(SELECT number FROM runs WHERE id = ${rootId} AND root = number AND of_root IS NULL
UNION ALL SELECT number FROM runs WHERE of_root = ${rootId} AND of_root IS NOT NULL)`;
}

/** Part of a transaction that is open. */
export function deleteMail(connection: SqliteConnection, journal: number): void {
  // The row with the greatest number stays, because SQLite would give its number again.
  connection.prepare(EMPTY_LAST).run(journal);
  connection.prepare("DELETE FROM mail WHERE run = ?").run(journal);
}

const EMPTY_LAST =
  "UPDATE mail SET run = 0, kind = '', question = NULL, json = '' WHERE run = ? AND id = (SELECT max(id) FROM mail)";

/** The tree of a run that is in the database; part of a transaction that is open. */
export function treeOf(connection: SqliteConnection, runId: string): string | undefined {
  const found = connection.prepare(FIND_TREE).get(toColumn(runId));
  return found && fromColumn(String(found.root));
}

const FIND_TREE = "SELECT ifnull(t.of_root, t.id) AS root FROM runs r JOIN runs t ON t.number = r.root WHERE r.id = ?";
