/** A link in the docs leads somewhere: to a file of the repository, and to a heading that is in it. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { suite, test } from "node:test";
import { type Page, pages } from "../../support/docs/markdown-files.ts";
import { rootFolder } from "../../support/source-files.ts";

suite("every link within the repository leads somewhere", () => {
  for (const page of pages())
    test(`every link of ${page.path} leads somewhere`, () => assert.deepEqual(brokenLinks(page), []));
});

test("a link to a missing file and one to a missing heading are found", () => {
  const text = "[one](nowhere.md) [two](README.md#no-such-heading) [three](https://example.org/x)";
  assert.deepEqual(brokenLinks({ path: "AGENTS.md", text }), ["nowhere.md", "README.md#no-such-heading"]);
});

test("every page of docs/ can be reached from its first page", () => {
  const all = new Map(pages().map((page) => [page.path, page]));
  const reached = new Set<string>();
  const visit = (path: string): void => {
    const page = all.get(path);
    if (page === undefined || reached.has(path)) return;
    reached.add(path);
    for (const link of linksOf(page)) visit(targetOf(page, link).file);
  };
  visit("docs/README.md");
  const lost = [...all.keys()].filter((path) => path.startsWith("docs/") && !reached.has(path));
  assert.deepEqual(lost, []);
});

function brokenLinks(page: Page): string[] {
  return linksOf(page).filter((link) => {
    const { file, heading } = targetOf(page, link);
    const path = join(rootFolder, file);
    if (!existsSync(path)) return true;
    return heading !== undefined && !headingsOf(readFileSync(path, "utf8")).includes(heading);
  });
}

/** Links to places on the web are not followed. */
function linksOf({ text }: Page): string[] {
  const prose = text.replaceAll(/```.*?```/gs, "").replaceAll(/`[^`\n]*`/g, "code");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link).filter((link) => !/^\w+:/.test(link));
}

function targetOf(page: Page, link: string): { file: string; heading: string | undefined } {
  const [file = "", heading] = link.split("#");
  return { file: file === "" ? page.path : normalize(join(dirname(page.path), file)), heading };
}

/** As GitHub names them. */
function headingsOf(text: string): string[] {
  return [...text.replaceAll(/```.*?```/gs, "").matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
