/** The pages that the package carries. A link to a file that is not in the package becomes plain text. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const PAGES = ["README.md", "SECURITY.md", "CHANGELOG.md"];
const ALSO_PACKED = ["LICENSE", "package.json"];

/** Copies them from the root of the repository. */
export function copyPages(root: string, target: string): void {
  const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => join("docs", path));
  const pages = [...PAGES, ...docs];
  const packed = new Set([...pages, ...ALSO_PACKED]);
  rmSync(join(target, "docs"), { recursive: true, force: true });
  for (const page of pages) {
    mkdirSync(dirname(join(target, page)), { recursive: true });
    const text = forPackage(readFileSync(join(root, page), "utf8"));
    writeFileSync(
      join(target, page),
      replaceLinks(text, (link) => packed.has(targetOf(page, link))),
    );
  }
}

/** From `<!-- repository -->` on a page is for people with a clone, up to `<!-- package`; what that comment holds is in its place. */
export function forPackage(text: string): string {
  return text.replaceAll(/<!-- repository -->\n.*?<!-- package\n(.*?)-->\n/gs, "$1").replaceAll(/\n{3,}/g, "\n\n");
}

/** The relative links of a page that lead to nothing in a folder. */
export function brokenLinks(folder: string, page: string): string[] {
  const broken: string[] = [];
  replaceLinks(readFileSync(join(folder, page), "utf8"), (link) => {
    if (!existsSync(join(folder, targetOf(page, link)))) broken.push(`${page}: ${link}`);
    return true;
  });
  return broken;
}

/** Links to the web and to headings of the same page stay, and so does everything in blocks of code. */
function replaceLinks(text: string, isKept: (link: string) => boolean): string {
  const parts = text.split(/(^```.*?^```)/ms);
  return parts
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replaceAll(/\[([^\]]*)\]\(([^)\s]+)\)/g, (whole: string, words: string, link: string) =>
            /^(\w+:|#)/.test(link) || isKept(link) ? whole : words,
          ),
    )
    .join("");
}

function targetOf(page: string, link: string): string {
  return normalize(join(dirname(page), link.split("#", 1)[0] ?? ""));
}
