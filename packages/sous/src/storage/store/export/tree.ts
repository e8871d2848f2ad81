/** One tree out of a store, as a file: JSON for another store, HTML and Markdown for people. */

import { UserError } from "../../../core/errors.ts";
import type { StoredEvent } from "../../../core/event.ts";
import { readWholeTree } from "../../../core/read-tree.ts";
import { missingEvent, type Store } from "../../../core/store.ts";
import { EVENT_VERSION } from "../../../core/words/event-rows.ts";
import { parseStoredEvent } from "../event-schema.ts";
import { toHtmlFile } from "./html.ts";
import { toMarkdownFile } from "./markdown.ts";
import { viewRuns } from "./view.ts";

/** `json` can be imported again; `html` and `md` are for people. */
export type ExportFormat = "json" | "html" | "md";

/** The whole file as text; of a damaged tree what can be read. Throws a `UserError` when the id is not that of a root. */
export async function exportTree(store: Store, rootId: string, format: ExportFormat): Promise<string> {
  const root = await store.run(rootId);
  if (root === undefined) throw new UserError(`No run with the id ${JSON.stringify(rootId)}`);
  if (root.rootId !== rootId) throw new UserError(`Run ${rootId} is a part of tree ${root.rootId}: export that one`);
  let { damage } = root;
  const onDamage = ({ message }: Error): void => {
    damage ??= message;
  };
  const events = await readWholeTree(store, rootId, { onDamage });
  damage ??= missingEvent(rootId, events)?.message;
  switch (format) {
    case "json":
      return toJsonFile(events, root.lost ?? damage);
    case "html":
      return toHtmlFile(viewRuns(await store.tree(rootId), events), damage);
    case "md":
      return toMarkdownFile(viewRuns(await store.tree(rootId), events), damage);
    default:
      throw new UserError(
        `A tree can be exported as json, html or md; found ${JSON.stringify(format satisfies never)}`,
      );
  }
}

/** A tree as one JSON file: everything another store needs to take it in, one event per line. */
export const TREE_FORMAT = "sous-tree";

/** The parsed content of the file. */
export type TreeFile = {
  format: typeof TREE_FORMAT;
  version: number;
  /** The reason why not everything that happened in the tree was kept. */
  lost?: string | undefined;
  events: readonly StoredEvent[];
};

/** The same events always give the same text, whichever store they come from. */
function toJsonFile(events: readonly StoredEvent[], lost: string | undefined): string {
  const head = JSON.stringify({ format: TREE_FORMAT, version: EVENT_VERSION, lost }).slice(0, -1);
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

/** Half a character cannot be encoded, and an import takes it for damage. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(wellFormed);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]));
}
