/** The order of the documentation, read from the lists of `docs/README.md`. The sidebar and `llms.txt` are made from it. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { targetOf } from "../packed-pages.ts";

/** A page, with the pages that are listed below it. Paths are relative to the root of the repository. */
export type Entry = {
  readonly title: string;
  readonly path: string;
  /** The heading that the entry leads to, without `#`. */
  readonly heading?: string;
  /** What the list says after the title. */
  readonly about: string;
  readonly below: readonly Entry[];
};

/** A list, under the line that introduces it, if one does: "In code:". */
export type Group = { readonly title: string | undefined; readonly entries: readonly Entry[] };
export type Section = { readonly title: string; readonly groups: readonly Group[] };

export const HOME = "docs/README.md";

const LINK = /\[([^\]]*)\]\(([^)\s]+)\)/g;

export function readSiteMap(root: string): Section[] {
  return parseSiteMap(readFileSync(join(root, HOME), "utf8"), (path) => readFileSync(join(root, path), "utf8"));
}

/** Sections without a list are left out. */
export function parseSiteMap(home: string, read: (path: string) => string): Section[] {
  return home
    .split(/^## /m)
    .slice(1)
    .map((part) => {
      const [title = "", ...lines] = part.split("\n");
      return { title: title.trim(), groups: groupsIn(lines.join("\n"), read) };
    })
    .filter(({ groups }) => groups.length > 0);
}

function groupsIn(text: string, read: (path: string) => string): Group[] {
  const groups: Group[] = [];
  let introduction: string | undefined;
  for (const block of text.split(/\n{2,}/).map((each) => each.trim())) {
    if (block.startsWith("- ")) {
      const items = block.split(/^- /m).slice(1);
      groups.push({ title: introduction, entries: items.map((item) => entryOf(item, read)) });
    }
    introduction = /^[^\n]{1,40}:$/.test(block) ? block.slice(0, -1) : undefined;
  }
  return groups;
}

/** The first link is the entry. Below it are the other links of the item, and those of an index page to its own folder. */
function entryOf(item: string, read: (path: string) => string): Entry {
  const [first, ...others] = linksIn(item, HOME);
  if (first === undefined) throw new Error(`An item of ${HOME} has no link: ${item.trim()}`);
  const listed = first.path.endsWith("/README.md") ? ownPages(first.path, read(first.path)) : [];
  const about = item.slice(item.indexOf(")") + 1).replace(/^[:,]\s*/, "");
  return {
    ...first,
    about: others.length > 0 ? "" : plain(about),
    below: withoutRepeats([...others, ...listed]),
  };
}

/** Pages of the folder, and the main programs of example folders. */
function ownPages(index: string, text: string): Entry[] {
  const folder = dirname(index);
  return linksIn(text, index).filter(
    ({ path }) => path !== index && (dirname(path) === folder ? path.endsWith(".md") : isExample(path, folder)),
  );
}

function isExample(path: string, folder: string): boolean {
  return path.endsWith("/main.ts") && dirname(dirname(path)) === folder;
}

function linksIn(text: string, page: string): Entry[] {
  return [...text.matchAll(LINK)]
    .filter(([, , link = ""]) => !/^(\w+:|#)/.test(link))
    .map(([, words = "", link = ""]) => {
      const heading = link.split("#")[1];
      return {
        title: plain(words),
        path: targetOf(page, link),
        ...(heading !== undefined && { heading }),
        about: "",
        below: [],
      };
    });
}

function withoutRepeats(entries: readonly Entry[]): Entry[] {
  return entries.filter((entry, index) => entries.findIndex(({ path }) => path === entry.path) === index);
}

function plain(text: string): string {
  return text.replaceAll("`", "").replaceAll(LINK, "$1").replaceAll(/\s+/g, " ").trim();
}

/** All entries, each before those below it. */
export function entriesOf(sections: readonly Section[]): Entry[] {
  const flat = (entries: readonly Entry[]): Entry[] => entries.flatMap((entry) => [entry, ...flat(entry.below)]);
  return sections.flatMap(({ groups }) => groups.flatMap(({ entries }) => flat(entries)));
}
