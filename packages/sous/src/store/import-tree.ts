/** Takes an exported tree into a store. The file is a stranger's: it is believed nothing that it does not prove. */

import type { Random } from "../core/clock.ts";
import { messageOf, StoreError } from "../core/errors.ts";
import type { StoredEvent } from "../core/event.ts";
import { EVENT_SCHEMA_VERSION, parseStoredEvent } from "../core/event-schema.ts";
import { NO_OWNER, type Store } from "../core/store.ts";
import { TREE_FORMAT, type TreeFile } from "./export-json.ts";
import { problemOfTree } from "./import-check.ts";
import { withNewIds } from "./import-ids.ts";
import { notImported, parseText } from "./import-text.ts";

export type ImportOptions = {
  /** Gives all runs new ids, so that a tree can be taken in twice. Without it a tree that is there already is refused. */
  newIds?: boolean | undefined;
  /** Where new ids come from; the machine's own chance when unset. */
  random?: Random | undefined;
};

export type ImportedTree = { rootId: string; runs: number; events: number };

/**
 * `exported` is the text of a file, or what JSON made of it. The tree is kept whole or not at all; a file that is refused
 * throws a `UserError` and changes nothing. No process owns the tree: it can be inspected and resumed.
 *
 * The rights in a file grant nothing: tools are functions, which only the definitions given to `resume` have,
 * and what is resumed is narrowed by those again.
 */
export async function importTree(store: Store, exported: unknown, options: ImportOptions = {}): Promise<ImportedTree> {
  const file = parseFile(typeof exported === "string" ? parseText(exported) : exported);
  const events = options.newIds === true ? withNewIds(file.events, options.random ?? Math.random) : file.events;
  const runIds = events.flatMap(({ type, runId }) => (type === "run-start" ? [runId] : []));
  for (const runId of runIds) {
    if ((await store.run(runId)) !== undefined)
      throw notImported(
        `run ${runId} is in this store already; delete its tree first, or import it with new ids (--new-ids)`,
      );
  }
  const [rootId = ""] = runIds;
  await store.append(rootId, events, NO_OWNER);
  if (file.lost !== undefined) await markLost(store, rootId, file.lost);
  return { rootId, runs: runIds.length, events: events.length };
}

/** Without the mark it could be resumed as if it were whole, so then it is not kept at all. */
async function markLost(store: Store, rootId: string, reason: string): Promise<void> {
  try {
    await store.markLost(rootId, reason);
  } catch (error) {
    await store.delete(rootId);
    throw error;
  }
}

/** More than a store can number. */
const MAX_EVENTS = 2 ** 28 - 1;
const LONGEST_REASON = 10_000;

function parseFile(value: unknown): TreeFile {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw notImported(NOT_A_TREE);
  const { format, version, lost, events, ...rest } = value as { readonly [Field in keyof TreeFile]?: unknown };
  if (format !== TREE_FORMAT) throw notImported(NOT_A_TREE);
  if (!Number.isSafeInteger(version) || Number(version) < 1)
    throw notImported("its version is not a whole number of at least 1");
  if (version !== EVENT_SCHEMA_VERSION)
    throw notImported(
      `it has version ${version} and this sous knows version ${EVENT_SCHEMA_VERSION}; use a newer sous`,
    );
  if (Object.keys(rest).length > 0) throw notImported("it has fields besides format, version, lost and events");
  if (lost !== undefined && !(typeof lost === "string" && lost.length <= LONGEST_REASON && lost.isWellFormed()))
    throw notImported("lost is not a short text");
  if (!Array.isArray(events) || events.length > MAX_EVENTS) throw notImported("events is not a list");
  const parsed = events.map(parseEvent);
  const problem = problemOfTree(parsed);
  if (problem !== undefined) throw notImported(problem);
  return { format, version: EVENT_SCHEMA_VERSION, lost, events: parsed };
}

const NOT_A_TREE = "it is not a tree that sous has exported as JSON";

function parseEvent(value: unknown): StoredEvent {
  try {
    const event = parseStoredEvent(value);
    if (!isWellFormed(event)) throw notImported(`event ${event.seq} (${event.type}) holds half a character`);
    return event;
  } catch (error) {
    throw error instanceof StoreError ? notImported(messageOf(error)) : error;
  }
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  for (const [key, item] of Object.entries(value)) if (!key.isWellFormed() || !isWellFormed(item)) return false;
  return true;
}
