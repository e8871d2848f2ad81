/** The remains of a killed process, made from runs that have ended: the events up to a moment, and no owner. */

import { rm } from "node:fs/promises";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { NO_OWNER } from "../../../../src/core/store.ts";
import { openSqliteStore } from "../../../../src/storage/store/sqlite/store.ts";

/** Every tree of the database is then as if its process had been killed when it had stored the first event that fits. */
export async function killRunsAt(file: string, isLast: (event: StoredEvent) => boolean): Promise<void> {
  const trees = await eventsOf(file);
  for (const each of [file, `${file}-wal`, `${file}-shm`]) await rm(each, { force: true });
  await using store = await openSqliteStore(file);
  for (const { rootId, events } of trees) {
    const last = events.findIndex(isLast);
    if (last === -1) throw new Error(`Run ${rootId} was never there`);
    await store.append(rootId, events.slice(0, last + 1), NO_OWNER);
  }
}

async function eventsOf(file: string): Promise<{ rootId: string; events: readonly StoredEvent[] }[]> {
  await using store = await openSqliteStore(file, { readOnly: true });
  const roots = await store.list({ rootsOnly: true });
  return Promise.all(roots.map(async ({ rootId }) => ({ rootId, events: await store.read(rootId) })));
}
