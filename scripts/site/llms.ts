/** `llms.txt`: the list of the documentation for models, in the form of llmstxt.org. */

import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { isPacked } from "../packed-pages.ts";
import { addressOf, LLMS_FILE } from "./address.ts";
import { type Entry, entriesOf, HOME, readSiteMap } from "./site-map.ts";
import type { SitePage } from "./site-pages.ts";

/** The text of `docs/llms.txt`: the pages that the package has. */
export function packedLlms(root: string): string {
  return render(root, ({ path }) => (isPacked(path) ? relative(dirname(LLMS_FILE), path) : undefined));
}

/** The same for the site, which has all pages, also as Markdown. */
export function siteLlms(root: string): string {
  return render(root, ({ path }) => addressOf(path));
}

/** What a program is written with: the readme, the tutorials, the guides, and the core of the library. */
const IN_FULL_TEXT =
  /^(?:README\.md|docs\/(?:tutorials|how-to)\/.+|docs\/reference\/(?:outcomes|api\/(?:run|agents|tools))\.md)$/;
/** Messages to look up; the list links to them. */
const TROUBLESHOOTING = "docs/how-to/troubleshooting.md";

/** The text of these pages in one file, in the order of the lists; the others are linked from `llms.txt`. */
export function fullText(root: string, pages: readonly SitePage[]): string {
  const order = new Set(entriesOf(readSiteMap(root)).map(({ path }) => path));
  return [...order]
    .filter((path) => IN_FULL_TEXT.test(path) && path !== TROUBLESHOOTING)
    .flatMap((path) => pages.filter(({ source }) => source === path))
    .map(({ address, text }) => `<!-- ${address} -->\n\n${text.trim()}\n`)
    .join("\n");
}

/** Each page once, where it is first listed. */
function render(root: string, addressOfEntry: (entry: Entry) => string | undefined): string {
  const read = (path: string): string => readFileSync(join(root, path), "utf8");
  const seen = new Set<string>();
  const line = (entry: Entry): string => {
    const address = addressOfEntry(entry);
    if (address === undefined || seen.has(entry.path)) return "";
    seen.add(entry.path);
    const about = entry.about === "" && entry.path.endsWith(".md") ? firstSentence(read(entry.path)) : entry.about;
    return `- [${entry.title}](${address}${entry.heading === undefined ? "" : `#${entry.heading}`})${about === "" ? "" : `: ${about}`}\n`;
  };
  const parts = readSiteMap(root).map(({ title, groups }) => {
    const entries = groups.flatMap((group) => group.entries);
    const lines = entries.map((entry) => line(entry) + entry.below.map(line).join("")).join("");
    return lines === "" ? "" : `\n## ${title}\n\n${lines}`;
  });
  return `# sous\n\n> ${firstParagraph(read(HOME))}\n${parts.join("")}`;
}

/** The first prose of a page, without markup and on one line. */
function firstParagraph(page: string): string {
  const paragraph = page
    .replaceAll(/<!--.*?-->/gs, "")
    .replaceAll(/^```.*?^```/gms, "")
    .split(/\n{2,}/)
    .map((block) => block.trim())
    .find((block) => /^[\p{L}`[*]/u.test(block) && !/^[-*|] /.test(block));
  return (paragraph ?? "")
    .replaceAll(/\[([^\]]*)\]\([^)\s]+\)/g, "$1")
    .replaceAll(/\*\*|`/g, "")
    .replaceAll(/\s+/g, " ");
}

function firstSentence(page: string): string {
  const paragraph = firstParagraph(page);
  const end = /[.:!?](?= |$)/.exec(paragraph);
  return end === null ? paragraph : paragraph.slice(0, end.index);
}
