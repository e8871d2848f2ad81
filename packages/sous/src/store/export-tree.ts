/** One tree out of a store, as a file: JSON for another store, HTML and Markdown for people. */

import { UserError } from "../core/errors.ts";
import type { Store } from "../core/store.ts";
import { toHtmlFile } from "./export-html.ts";
import { toJsonFile } from "./export-json.ts";
import { toMarkdownFile } from "./export-markdown.ts";
import { viewRuns } from "./export-view.ts";

export type ExportFormat = "json" | "html" | "md";

/** The whole file as text. Throws a `UserError` when the id is not that of a root. */
export async function exportTree(store: Store, rootId: string, format: ExportFormat): Promise<string> {
  const root = await store.run(rootId);
  if (root === undefined) throw new UserError(`No run with the id ${JSON.stringify(rootId)}`);
  if (root.rootId !== rootId) throw new UserError(`Run ${rootId} is a part of tree ${root.rootId}: export that one`);
  const events = await store.read(rootId);
  switch (format) {
    case "json":
      return toJsonFile(events, root.lost);
    case "html":
      return toHtmlFile(viewRuns(await store.tree(rootId), events));
    case "md":
      return toMarkdownFile(viewRuns(await store.tree(rootId), events));
    default:
      throw new UserError(
        `A tree can be exported as json, html or md; found ${JSON.stringify(format satisfies never)}`,
      );
  }
}
