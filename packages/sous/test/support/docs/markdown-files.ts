/** The pages people read, and the blocks of code in them. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pagePaths } from "../../../../../scripts/repository-files.ts";
import { rootFolder } from "../source-files.ts";

export type Page = { path: string; text: string };

/** A block of TypeScript and the region of an example that it shows, if it names one. */
export type CodeBlock = { snippet: string | undefined; code: string; line: number };

/** With paths relative to the root. */
export function pages(): Page[] {
  return pagePaths(rootFolder).map((path) => ({ path, text: readFileSync(join(rootFolder, path), "utf8") }));
}

/** Pages made from the code are right by construction, and `npm run check` compares them. */
export function isGenerated({ text }: Page): boolean {
  return text.startsWith("<!-- Generated");
}

/** Comments may stand between the one that names the region and the block. */
export const CODE_BLOCK: RegExp =
  /(?:<!-- snippet: (\S+) -->\s*)?((?:<!--[^>]*-->\s*)*)```(ts|typescript|js)\n(.*?)```/gs;

export function codeBlocks({ text }: Page): CodeBlock[] {
  return [...text.matchAll(CODE_BLOCK)].map((match) => ({
    snippet: match[1],
    code: match[4] ?? "",
    line: text.slice(0, match.index).split("\n").length,
  }));
}

/** The lines between `// #region name` and `// #endregion`, without blank lines at the end; undefined when there is no such region. */
export function regionOf(source: string, name: string): string | undefined {
  const lines = source.split("\n");
  const first = lines.findIndex((line) => line.trim() === `// #region ${name}`);
  const last = lines.findIndex((line, index) => index > first && line.trim() === "// #endregion");
  if (first < 0 || last < 0) return undefined;
  return `${lines
    .slice(first + 1, last)
    .join("\n")
    .trimEnd()}\n`;
}
