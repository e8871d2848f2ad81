/** Trees that continued while the server was away: noted there when it answers, and on this machine until then. */

import type { RunRecord } from "../core/store.ts";
import { toColumn } from "./column-text.ts";
import { LostMarks, marksIn } from "./lost-marks.ts";
import { type Connection, statement } from "./postgres-connection.ts";
import type { Reader } from "./postgres-read.ts";

export type Losses = {
  /** Rejects when neither this machine nor the server takes it. */
  mark(rootId: string, reason: string): Promise<void>;
  /** Tells the server what is marked here. A tree that it does not have stays marked. */
  takeIn(): Promise<void>;
  /** The same, when this store has something to tell; never rejects. */
  catchUp(): Promise<void>;
  forget(rootId: string): void;
  /** The reader, with what is marked here added to the roots that it finds. */
  addTo(reader: Reader): Reader;
};

/** Where the server is must be known by now. */
export function createLosses(connection: Connection, schema: string, folder: string | undefined): Losses {
  const marks = new LostMarks(marksIn(folder, `${connection.place()} ${schema}`));
  const markLost = statement(
    `update ${schema}.trees set lost = coalesce(lost, $2) where root_id = $1 returning root_id`,
  );
  let isBehind = false;

  /** False when there is no such tree. */
  async function note(rootId: string, reason: string): Promise<boolean> {
    return (await connection.query(markLost, [toColumn(rootId), toColumn(reason)])).length > 0;
  }

  async function takeIn(): Promise<void> {
    isBehind = false;
    try {
      for (const rootId of marks.rootIds()) {
        const reason = marks.reasonFor(rootId);
        if (reason !== undefined && (await note(rootId, reason))) marks.remove(rootId);
      }
    } catch (error) {
      isBehind = true;
      throw error;
    }
  }

  function marked(record: RunRecord): RunRecord {
    const lost = record.id === record.rootId ? (record.lost ?? marks.reasonFor(record.id)) : undefined;
    return lost === undefined ? record : { ...record, lost };
  }

  return {
    takeIn,
    async mark(rootId, reason) {
      // Here first, and at once: the server may take long to answer, and the process may be gone by then.
      const isMarked = marks.add(rootId, reason);
      try {
        await note(rootId, reason);
      } catch (error) {
        if (!isMarked) throw error;
        isBehind = true;
        return;
      }
      marks.remove(rootId);
    },
    async catchUp() {
      if (isBehind) await takeIn().catch(() => undefined);
    },
    forget: (rootId) => marks.remove(rootId),
    addTo: (reader) => ({
      ...reader,
      run: async (runId) => {
        const record = await reader.run(runId);
        return record && marked(record);
      },
      list: async (query) => (await reader.list(query)).map(marked),
      tree: async (rootId) => (await reader.tree(rootId)).map(marked),
    }),
  };
}
