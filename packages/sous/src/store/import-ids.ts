/** Other names for all runs of a tree, so that it can stand beside the tree it is a copy of. */

import { type Random, ulidSource } from "../core/clock.ts";
import type { StoredEvent } from "../core/event.ts";
import { parseStoredEvent } from "../core/event-schema.ts";

/**
 * Every id of a run becomes a new one, also where a text speaks of it, such as `(subagent_id: …)`. The new ids have the
 * time and the order of the old ones, so that lists stay in order.
 */
export function withNewIds(events: readonly StoredEvent[], random: Random): StoredEvent[] {
  const old = new Set<string>();
  for (const event of events) if (event.type === "run-start") old.add(event.runId);
  let time = 0;
  const next = ulidSource(() => time, random);
  const newIds = new Map<string, string>();
  for (const id of [...old].sort()) {
    time = timeOf(id);
    newIds.set(id, next());
  }
  const rename = (text: string) => text.replace(ULID_IN_TEXT, (found) => newIds.get(found) ?? found);
  return events.map((event) => parseStoredEvent(renamed(event, rename)));
}

const ULID_IN_TEXT = /(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])/g;
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** The first ten letters of a ULID are milliseconds since 1970. */
function timeOf(id: string): number {
  let time = 0;
  for (const letter of id.slice(0, 10)) time = time * 32 + ALPHABET.indexOf(letter);
  return time;
}

/** The events are at most 110 levels deep by now. */
function renamed(value: unknown, rename: (text: string) => string): unknown {
  if (typeof value === "string") return rename(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, renamed(item, rename)]));
}
