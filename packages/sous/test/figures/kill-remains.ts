/** The remains of a process: its database and its log, read from copies, because the next must find them as they are. */

import { copyFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { StoredEvent } from "../../src/core/event.ts";
import { openSqliteStore } from "../../src/storage/store/sqlite/store.ts";
import type { ToolRun } from "./kill-judge.ts";

/** `place` is the path of both, without their endings. */
export async function readRemains(
  place: string,
): Promise<{ events: readonly StoredEvent[]; ran: ToolRun[]; problems: string[] }> {
  const log = existsSync(`${place}.log`) ? readFileSync(`${place}.log`, "utf8") : "";
  const ran = log
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ToolRun);
  if (!existsSync(`${place}.db`)) return { events: [], ran, problems: [] };
  const copy = `${place}-copy.db`;
  // A process that dies while it makes the file leaves a journal, without which the file is half made.
  for (const end of ["", "-wal", "-journal"]) {
    rmSync(`${copy}${end}`, { force: true });
    if (existsSync(`${place}.db${end}`)) copyFileSync(`${place}.db${end}`, `${copy}${end}`);
  }
  const database = new DatabaseSync(copy);
  const found = database.prepare("PRAGMA integrity_check").all();
  database.close();
  const problems = JSON.stringify(found) === '[{"integrity_check":"ok"}]' ? [] : [JSON.stringify(found)];
  await using store = await openSqliteStore(copy);
  const [root] = await store.list({ rootsOnly: true });
  return { events: root === undefined ? [] : await store.read(root.rootId), ran, problems };
}
