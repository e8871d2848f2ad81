/** The pages and the example programs of the repository. Paths are relative to its root. */

import { readdirSync } from "node:fs";
import { join } from "node:path";

/** A file of an example: those of the ladder are in `examples/`, those that a page shows in `docs/snippets/`. */
export const EXAMPLE: RegExp = /^(?:examples|docs\/snippets)\/([^/]+)\/(.+)$/;

/** The folder of each example. */
export function exampleFolders(root: string): string[] {
  return ["examples", "docs/snippets"].flatMap((above) =>
    readdirSync(join(root, above), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${above}/${name}`),
  );
}

/** Every file of every example. */
export function exampleFiles(root: string): string[] {
  return exampleFolders(root)
    .flatMap((folder) => filesBelow(root, folder))
    .sort();
}

/** The Markdown that people read: of the root, `docs/`, `examples/` and `ops/`, and the first page of the site. */
export function pagePaths(root: string): string[] {
  const here = readdirSync(root).filter((name) => name.endsWith(".md"));
  const docs = filesBelow(root, "docs").filter((path) => path.endsWith(".md") && !EXAMPLE.test(path));
  return [...here, ...docs, "examples/README.md", "ops/README.md", "site/index.md"].sort();
}

/** The pictures on pages of `docs/`. */
export function picturePaths(root: string): string[] {
  return filesBelow(root, "docs").filter((path) => path.endsWith(".svg"));
}

function filesBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
}
