/** Checks what the build of VitePress does not look at: links to headings, and files that pages name. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Links of built pages that lead to no file, or to no heading of it. */
export function deadTargets(folder: string, base = "/"): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".html"));
  const pages = new Map(files.map((path) => [path, readFileSync(join(folder, path), "utf8")]));
  const ids = new Map([...pages].map(([path, html]) => [path, new Set(valuesOf(html, "id"))]));
  return [...pages].flatMap(([path, html]) =>
    [...new Set(valuesOf(html, "href"))]
      .filter((link) => !/^(\w+:|\/\/)/.test(link))
      .filter((link) => !isThere(link, path))
      .map((link) => `${path}: ${link}`),
  );

  function isThere(link: string, page: string): boolean {
    const [address = "", heading = ""] = link.split("#");
    const path = decodeURI(address.split("?", 1)[0] ?? "");
    if (path.startsWith("/") && !path.startsWith(base)) return false;
    const file = path === "" ? page : path.startsWith("/") ? path.slice(base.length) : join(dirname(page), path);
    const target = [file, join(file, "index.html")].find((each) => each.endsWith(".html") && pages.has(each)) ?? file;
    if (heading === "") return existsSync(join(folder, target));
    return ids.get(target)?.has(decodeURIComponent(heading)) === true;
  }
}

function valuesOf(html: string, attribute: "id" | "href"): string[] {
  const pattern = attribute === "id" ? /\sid="([^"]*)"/g : /\shref="([^"]*)"/g;
  return [...html.matchAll(pattern)].map(([, value = ""]) => value.replaceAll("&amp;", "&"));
}
