/** The pages of the site: the Markdown of the repository under other addresses, and a page for each example. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, extname, join, relative } from "node:path";
import { forPackage, rewriteLinks, targetOf } from "../packed-pages.ts";
import { EXAMPLE, exampleFolders, pagePaths, picturePaths } from "../repository-files.ts";
import { addressOf, LLMS_FILE } from "./address.ts";
import { slugOf } from "./slug.ts";

export type SitePage = {
  /** Relative to the root of the repository. */
  readonly source: string;
  /** Relative to the root of the site, with `.md`. */
  readonly address: string;
  readonly text: string;
};

/** Every page, in the order of their sources. */
export function sitePages(root: string): SitePage[] {
  const sources = [...pagePaths(root), ...exampleFolders(root).map((folder) => `${folder}/main.ts`)];
  const addresses = new Set([...sources, ...picturePaths(root)].map(addressOf));
  return sources.map((source) => {
    const text = EXAMPLE.test(source)
      ? exampleText(root, dirname(source))
      : siteText(read(root, source), source, { root, addresses });
    return { source, address: addressOf(source), text };
  });
}

type Site = { readonly root: string; readonly addresses: ReadonlySet<string> };

/** A page as it is on the site. A link to a file that is no page becomes plain text. A link to nothing stays, so that the build fails. */
export function siteText(text: string, source: string, { root, addresses }: Site): string {
  const from = dirname(addressOf(source));
  return rewriteLinks(forPackage(text), (link) => {
    const target = targetOf(source, link);
    const address = addressOf(target);
    if (!existsSync(join(root, target))) return link;
    if (!addresses.has(address) && target !== LLMS_FILE) return undefined;
    const [, , file] = EXAMPLE.exec(target) ?? [];
    const heading = file === undefined ? link.split("#")[1] : slugOf(titleOf(file));
    const path = relative(from, address);
    return `${path.startsWith(".") ? path : `./${path}`}${heading === undefined ? "" : `#${heading}`}`;
  });
}

/** The files of an example: the main program first, what it prints last. */
function exampleText(root: string, folder: string): string {
  const rank = (name: string): number => (name === "main.ts" ? 0 : name === PRINTED ? 2 : 1);
  const parts = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, relative(root, join(entry.parentPath, entry.name))))
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
    .map((name) => section(titleOf(name), languageOf(name), read(root, join(folder, name))));
  return `# ${basename(folder)}\n\n${parts.join("\n")}`;
}

const PRINTED = "expected.txt";

function titleOf(file: string): string {
  return file === PRINTED ? "What it prints" : file;
}

function languageOf(file: string): string {
  const extension = extname(file).slice(1);
  return extension === "mjs" ? "js" : extension;
}

/** Lines that mark the regions of pages are left out. */
function section(title: string, language: string, text: string): string {
  const lines = text.trimEnd().replaceAll(/^[ \t]*\/\/ #(?:region|endregion).*\n/gm, "");
  return `## ${title}\n\n\`\`\`\`${language}\n${lines}\n\`\`\`\`\n`;
}

function read(root: string, path: string): string {
  return readFileSync(join(root, path), "utf8");
}
