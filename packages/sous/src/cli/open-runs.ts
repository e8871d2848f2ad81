/** How commands get at the runs of a database that is there already. */

import { lstatSync } from "node:fs";
import type { StoredEvent } from "../core/event.ts";
import type { Store } from "../core/store.ts";
import { openDatabase } from "./assemble.ts";
import { CommandError } from "./exit-codes.ts";
import { inertLine } from "./inert.ts";

/** Opens what is there; making a database is not the business of whoever wants to look at one. */
export function openRuns(file: string, access: "read" | "write"): ReturnType<typeof openDatabase> {
  if (!isThere(file)) return Promise.reject(new CommandError(noDatabase(file)));
  return openDatabase(file, { readOnly: access === "read" });
}

/** True also for what cannot be used as a database: whoever opens it says why. An empty file is one that nobody has begun. */
export function isThere(file: string): boolean {
  try {
    const found = lstatSync(file, { throwIfNoEntry: false });
    return found !== undefined && !(found.isFile() && found.size === 0);
  } catch {
    return true;
  }
}

export function noDatabase(file: string): string {
  return `There are no runs yet: no database at ${inertLine(file)}. sous demo makes one.`;
}

const PAGE = 5000;

/** The events of a tree, a page at a time: a large one need not be held at once. */
export async function* eventsOf(store: Store, rootId: string): AsyncGenerator<StoredEvent> {
  for (let after = 0; ; ) {
    const page = await store.read(rootId, { after, limit: PAGE });
    yield* page;
    const last = page.at(-1)?.seq ?? 0;
    if (page.length < PAGE || last <= after) return;
    after = last;
  }
}
