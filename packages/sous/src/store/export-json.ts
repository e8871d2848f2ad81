/** A tree as one JSON file: everything another store needs to take it in, one event per line. */

import type { StoredEvent } from "../core/event.ts";
import { EVENT_SCHEMA_VERSION, parseStoredEvent } from "../core/event-schema.ts";

export const TREE_FORMAT = "sous-tree";

/** What the file holds when it is read. */
export type TreeFile = {
  format: typeof TREE_FORMAT;
  version: typeof EVENT_SCHEMA_VERSION;
  /** Why not everything that happened in the tree was kept. */
  lost?: string | undefined;
  events: readonly StoredEvent[];
};

/** The same events always give the same text, whichever store they come from. */
export function toJsonFile(events: readonly StoredEvent[], lost: string | undefined): string {
  const head = JSON.stringify({ format: TREE_FORMAT, version: EVENT_SCHEMA_VERSION, lost }).slice(0, -1);
  return `${head},"events":[\n${events.map(toLine).join(",\n")}\n]}\n`;
}

/** Parsed before it is written: its fields then have the order of the schema, and what is exported can be imported. */
function toLine(event: StoredEvent): string {
  const plain: unknown = JSON.parse(JSON.stringify(event));
  const line = JSON.stringify(parseStoredEvent(plain));
  return HALF_CHARACTER.test(line) ? JSON.stringify(parseStoredEvent(wellFormed(plain))) : line;
}

/** JSON writes half of a surrogate pair as an escape; a literal backslash may look the same and does no harm. */
const HALF_CHARACTER = /\\ud[89a-f]/;

/** Half a character cannot be sent to anybody, and an import takes it for damage. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(wellFormed);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]));
}
