/** The pages and example programs that the package has. A link to a file that is not in the package becomes plain text. */

import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { EXAMPLE, exampleFiles, pagePaths, picturePaths } from "./repository-files.ts";
import { builtAddressOf, LLMS_FILE } from "./site/address.ts";

const PAGES = ["README.md", "SECURITY.md", "CHANGELOG.md", "examples/README.md"];
const ALSO_PACKED = ["LICENSE", "package.json", LLMS_FILE];

/** For those who change sous; what is not for its users is neither in the package nor in the text for models. */
const FOR_CONTRIBUTORS =
  /^docs\/(?:explanation\/decisions\/|explanation\/how-security-is-tested\.md|reference\/requirements\.md)/;

/** Whether a page or a file of an example is for people who use sous. */
export function isForUsers(path: string): boolean {
  const isPage = path.startsWith("docs/") && path.endsWith(".md") && !FOR_CONTRIBUTORS.test(path);
  return isPage || PAGES.includes(path) || EXAMPLE.test(path);
}

/** Whether the package has a file of the repository, besides code. */
export function isPacked(path: string): boolean {
  return isForUsers(path) || ALSO_PACKED.includes(path) || (path.startsWith("docs/") && path.endsWith(".svg"));
}

/**
 * Copies them from the root of the repository. npm shows the readme on a page of its own, where relative links lead to nothing:
 * once the manifest names the address of the site as `homepage`, they lead there.
 */
export function copyPages(root: string, target: string): void {
  const { homepage } = JSON.parse(readFileSync(join(root, "packages/sous/package.json"), "utf8"));
  for (const folder of ["docs", "examples"]) rmSync(join(target, folder), { recursive: true, force: true });
  for (const file of [...exampleFiles(root), ...picturePaths(root)]) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    copyFileSync(join(root, file), join(target, file));
  }
  for (const page of [...pagePaths(root).filter(isForUsers), LLMS_FILE]) {
    mkdirSync(dirname(join(target, page)), { recursive: true });
    const text = forPackage(readFileSync(join(root, page), "utf8"));
    writeFileSync(join(target, page), packedText(text, page, homepage));
  }
}

export function packedText(text: string, page: string, homepage?: string): string {
  return rewriteLinks(text, (link) => {
    const path = targetOf(page, link);
    if (!isPacked(path)) return undefined;
    if (homepage === undefined || page !== "README.md" || !path.endsWith(".md")) return link;
    const [, heading] = link.split("#");
    return new URL(`${builtAddressOf(path)}${heading === undefined ? "" : `#${heading}`}`, homepage).href;
  });
}

/** From `<!-- repository -->` on a page is for people with a clone, up to `<!-- package`; what that comment holds is in its place. */
export function forPackage(text: string): string {
  return text.replaceAll(/<!-- repository -->\n.*?<!-- package\n(.*?)-->\n/gs, "$1").replaceAll(/\n{3,}/g, "\n\n");
}

/** The relative links of a page that lead to nothing in a folder. */
export function brokenLinks(folder: string, page: string): string[] {
  const broken: string[] = [];
  rewriteLinks(readFileSync(join(folder, page), "utf8"), (link) => {
    if (!existsSync(join(folder, targetOf(page, link)))) broken.push(`${page}: ${link}`);
    return link;
  });
  return broken;
}

/**
 * The page with other links; a link that becomes undefined is plain text. Links to the web and to headings of the same page
 * stay, and so does everything in blocks of code.
 */
export function rewriteLinks(text: string, rewrite: (link: string) => string | undefined): string {
  const parts = text.split(/(^```.*?^```)/ms);
  return parts
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replaceAll(/\[([^\]]*)\]\(([^)\s]+)\)/g, (whole: string, words: string, link: string) => {
            if (/^(\w+:|#)/.test(link)) return whole;
            const other = rewrite(link);
            return other === undefined ? words : `[${words}](${other})`;
          }),
    )
    .join("");
}

/** The file that a link of a page leads to. */
export function targetOf(page: string, link: string): string {
  return normalize(join(dirname(page), link.split("#", 1)[0] ?? ""));
}
