/** Trees of a database that continued without it: noted in it when it can be written, and beside it until then. */

import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { RunRecord } from "../../../core/store.ts";
import { toColumn } from "../event-row.ts";
import { LostMarks, marksIn } from "../lost-marks.ts";
import { loadSqlite, type SqliteConnection } from "./connection.ts";

export class SqliteLosses {
  readonly #connection: SqliteConnection;
  readonly #marks: LostMarks;
  /** True when this store has left a mark that its database does not know of. */
  #isBehind = false;

  /** `folder` is for marks that cannot be made beside the database. */
  constructor(connection: SqliteConnection, folder: string | undefined) {
    this.#connection = connection;
    const { file } = connection;
    const beside = { folder: dirname(file), prefix: `${basename(file)}-lost-` };
    // The same for every process, by whichever path it opens the file.
    const address = join(realpathSync(dirname(file)), basename(file));
    this.#marks = new LostMarks([beside, ...marksIn(folder, address)]);
  }

  /** Beside it first: what the database does can take long, or be cut off. Throws a `StoreError` when neither takes it. */
  mark(rootId: string, reason: string): void {
    const isMarked = !this.#connection.isReadOnly && this.#marks.add(rootId, reason);
    try {
      this.#note(rootId, reason);
    } catch (error) {
      if (!isMarked) throw error;
      this.#isBehind = true;
      return;
    }
    this.#marks.remove(rootId);
  }

  /** Brings what is marked beside the database into it. A tree that is not in it stays marked. */
  takeIn(): void {
    for (const rootId of this.#marks.rootIds()) {
      const reason = this.#marks.reasonFor(rootId);
      if (reason !== undefined && this.#note(rootId, reason)) this.#marks.remove(rootId);
    }
    this.#isBehind = false;
  }

  /** The same, when this store has something to bring in. */
  catchUp(): void {
    if (this.#isBehind) this.takeIn();
  }

  delete(rootId: string): void {
    this.#marks.remove(rootId);
  }

  /** For a copy of the database, which has no marks beside it. */
  noteIn(copy: string): void {
    const marked = this.#marks.rootIds();
    if (marked.length === 0) return;
    const { DatabaseSync } = loadSqlite();
    const database = new DatabaseSync(copy);
    try {
      for (const rootId of marked)
        database.prepare(MARK_LOST).run(toColumn(this.#marks.reasonFor(rootId) ?? ""), toColumn(rootId));
    } finally {
      database.close();
    }
  }

  /** Adds to the roots among these what is marked beside the database. */
  addTo<Records extends readonly RunRecord[]>(records: Records): Records {
    for (const record of records) {
      const reason = record.id === record.rootId ? (record.lost ?? this.#marks.reasonFor(record.id)) : undefined;
      if (reason !== undefined) record.lost = reason;
    }
    return records;
  }

  /** False when there is no such tree. */
  #note(rootId: string, reason: string): boolean {
    const noted = this.#connection.write(() =>
      this.#connection.prepare(MARK_LOST).run(toColumn(reason), toColumn(rootId)),
    );
    return noted.changes !== 0;
  }
}

const MARK_LOST = "UPDATE runs SET lost = ifnull(lost, ?) WHERE id = ? AND root = number";
