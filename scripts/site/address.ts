/** The addresses of the files of the repository on the site. */

import { EXAMPLE } from "../repository-files.ts";

/** Written by `npm run docs`. */
export const LLMS_FILE = "docs/llms.txt";

/** The first page of the site. The lists of `docs/README.md` are a page below it. */
export const FIRST_PAGE = "site/index.md";

/** Where a file is on the site, if it is there. Files of an example are parts of one page. */
export function addressOf(path: string): string {
  const [, example] = EXAMPLE.exec(path) ?? [];
  if (example !== undefined) return `examples/${example}.md`;
  if (path === FIRST_PAGE) return "index.md";
  if (path === "README.md") return "overview.md";
  if (path === "docs/README.md") return "documentation.md";
  const below = path.startsWith("docs/") ? path.slice("docs/".length) : path;
  if (!below.includes("/")) return below === path ? below.toLowerCase() : below;
  return below.replace(/(^|\/)README\.md$/, "$1index.md");
}

/** The built page, without the address of the site: `how-to/patterns.html`, `reference/api/`. */
export function builtAddressOf(path: string): string {
  const address = addressOf(path);
  return address.endsWith("index.md") ? address.slice(0, -"index.md".length) : address.replace(/\.md$/, ".html");
}
