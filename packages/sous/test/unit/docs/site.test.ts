/** The site and `llms.txt` are made from the pages and from the lists of `docs/README.md`. `npm run interop -- site` builds it. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { isPacked, packedText, rewriteLinks, targetOf } from "../../../../../scripts/packed-pages.ts";
import { picturePaths } from "../../../../../scripts/repository-files.ts";
import { addressOf, FIRST_PAGE } from "../../../../../scripts/site/address.ts";
import { deadTargets } from "../../../../../scripts/site/built-site.ts";
import { fullText, packedLlms, siteLlms } from "../../../../../scripts/site/llms.ts";
import { type SidebarItem, sidebarOf } from "../../../../../scripts/site/sidebar.ts";
import { entriesOf, HOME, parseSiteMap, readSiteMap } from "../../../../../scripts/site/site-map.ts";
import { type SitePage, sitePages, siteText } from "../../../../../scripts/site/site-pages.ts";
import { rootFolder } from "../../support/source-files.ts";

const pages = sitePages(rootFolder);
const sections = readSiteMap(rootFolder);
const temporary = mkdtempSync(join(tmpdir(), "sous-site-"));
after(() => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 }));

/** The first page and the list itself are reached from everywhere; a snippet from the page that shows it. */
const LISTED = pages.filter(({ source }) => ![FIRST_PAGE, HOME].includes(source) && !isSnippet(source));

test("every page of the site but snippets is in its sidebar once, and the sidebar leads to pages only", () => {
  const listed = linksOf(sidebarOf(sections)).map((link) => link.split("#", 1)[0]);
  const addresses = LISTED.map(({ address }) => `/${address.replace(/index\.md$|\.md$/, "")}`);
  assert.deepEqual(differences(listed, addresses), NONE);
  assert.deepEqual(repeated(listed), []);
  assert.equal(new Set(pages.map(({ address }) => address)).size, pages.length, "two pages have one address");
});

test("every snippet is linked or shown by a page of the site", () => {
  const all = pages.filter(({ source }) => source.endsWith(".md"));
  const isNamed = ({ source, address }: SitePage): boolean =>
    all.some(({ text }) => text.includes(`${dirname(source)}/`) || text.includes(address));
  const unnamed = pages.filter(({ source }) => isSnippet(source)).filter((page) => !isNamed(page));
  assert.deepEqual(
    unnamed.map(({ source }) => source),
    [],
  );
});

test("every link of a page of the site leads to a page or a picture of the site", () => {
  const pictures = picturePaths(rootFolder).map(addressOf);
  const addresses = new Set([...pages.map(({ address }) => address), ...pictures, "llms.txt"]);
  const dead: string[] = [];
  for (const { address, text } of pages.filter(({ source }) => source.endsWith(".md"))) {
    rewriteLinks(text, (link) => {
      if (!addresses.has(targetOf(address, link))) dead.push(`${address}: ${link}`);
      return link;
    });
  }
  assert.deepEqual(dead, []);
});

test("a link to a file that is no page becomes text, a link to nothing stays, and one to an example names its file", () => {
  const site = { root: rootFolder, addresses: new Set(pages.map(({ address }) => address)) };
  const text = [
    "[a](../../LICENSE) [b](no-such-page.md) [c](../snippets/how-to-server/server.ts) [d](../../README.md#install)",
    "[e](../snippets/how-to-server/no-such.ts) [f](../snippets/how-to-server/expected.txt)",
    "[g](../reference/api/README.md) [h](https://example.org/x.md) [i](#here) [j](../README.md)",
  ].join("\n");
  assert.equal(
    siteText(text, "docs/how-to/patterns.md", site),
    [
      "a [b](no-such-page.md) [c](../examples/how-to-server.md#serverts) [d](../overview.md#install)",
      "[e](../snippets/how-to-server/no-such.ts) [f](../examples/how-to-server.md#what-it-prints)",
      "[g](../reference/api/index.md) [h](https://example.org/x.md) [i](#here) [j](../documentation.md)",
    ].join("\n"),
  );
});

test("links of the packed readme lead to the site when the manifest has its address, those of other pages stay", () => {
  const text = "[a](docs/README.md) [b](docs/how-to/patterns.md#x) [c](SECURITY.md) [d](LICENSE) [e](ARCHITECTURE.md)";
  assert.equal(packedText(text, "README.md"), text.replace("[e](ARCHITECTURE.md)", "e"));
  const site = "https://example.org/sous/";
  assert.equal(
    packedText(text, "README.md", site),
    `[a](${site}documentation.html) [b](${site}how-to/patterns.html#x) [c](${site}security.html) [d](LICENSE) e`,
  );
  assert.equal(packedText("[a](patterns.md)", "docs/how-to/x.md", site), "[a](patterns.md)");
});

test("the lists of a page become sections, groups, and pages below others", () => {
  const home = [
    ...["# Home", "## Words", "No list.", "## How-to: reach a goal", "In code:"],
    "- [One](how-to/one.md#part): first,\n  of two\n- [Errors](errors/README.md), see [two](two.md)",
  ].join("\n\n");
  const read = (): string => "[E1](E1.md) [again](E1.md) [web](https://example.org) [out](../two.md)";
  const page = (title: string, path: string) => ({ title, path, about: "", below: [] });
  assert.deepEqual(parseSiteMap(home, read), [
    {
      title: "How-to: reach a goal",
      groups: [
        {
          title: "In code",
          entries: [
            { ...page("One", "docs/how-to/one.md"), heading: "part", about: "first, of two" },
            {
              ...page("Errors", "docs/errors/README.md"),
              below: [page("two", "docs/two.md"), page("E1", "docs/errors/E1.md")],
            },
          ],
        },
      ],
    },
  ]);
  assert.throws(() => parseSiteMap("## A\n\n- no link\n", read), /An item of docs\/README.md has no link: no link/);
});

test("docs/llms.txt is current, and lists every page of the package once", () => {
  const text = readFileSync(join(rootFolder, "docs/llms.txt"), "utf8");
  assert.equal(text, packedLlms(rootFolder), "run npm run docs");
  const listed = [...text.matchAll(/^- \[[^\]]+\]\(([^)]+)\)/gm)].map(([, link = ""]) =>
    targetOf("docs/llms.txt", link),
  );
  assert.deepEqual(
    listed.filter((path) => !existsSync(join(rootFolder, path))),
    [],
  );
  const packed = LISTED.map(({ source }) => source).filter(isPacked);
  assert.deepEqual(differences(listed, packed), NONE);
  assert.equal(listed.length, new Set(listed).size);
});

test("llms.txt of the site lists every page with its address", () => {
  const listed = [...siteLlms(rootFolder).matchAll(/^- \[[^\]]+\]\(([^)#]+)/gm)].map(([, address = ""]) => address);
  assert.deepEqual(
    differences(
      listed,
      LISTED.map(({ address }) => address),
    ),
    NONE,
  );
  assert.ok(entriesOf(sections).every(({ path }) => addressOf(path).endsWith(".md")));
});

test("llms-full.txt has the readme, tutorials, guides and the core of the library, in less than 300 KB", () => {
  const full = fullText(rootFolder, pages);
  const whole = [...full.matchAll(/^<!-- (\S+\.md) -->$/gm)].map(([, address = ""]) => address);
  const guides = LISTED.map(({ address }) => address).filter((address) => /^(?:tutorials|how-to)\//.test(address));
  const core = ["reference/outcomes.md", ...["run", "agents", "tools"].map((name) => `reference/api/${name}.md`)];
  const expected = ["overview.md", ...guides.filter((address) => address !== "how-to/troubleshooting.md"), ...core];
  assert.deepEqual(whole.toSorted(), expected.toSorted());
  const bytes = Buffer.byteLength(full);
  assert.ok(bytes < MAX_FULL_TEXT_BYTES, `${bytes} bytes`);
});

test("a link of a built page to a missing page, file or heading is found", () => {
  write("index.html", '<a href="/a.html#one"> <a href="/a.html#two"> <a href="#x"> <p id="x"> <a href="/sub/">');
  write("a.html", '<h2 id="one"> <a href="./b.html"> <a href="style.css"> <a href="https://example.org/c.html#d">');
  write("sub/index.html", '<a href="../a.html#one"> <a href="../missing.css">');
  const found = ["a.html: ./b.html", "a.html: style.css", "index.html: /a.html#two", "sub/index.html: ../missing.css"];
  assert.deepEqual(deadTargets(temporary).sort(), found);
  write("a.html", '<a href="/base/index.html#x"> <a href="/index.html"> <h2 id="one">');
  assert.ok(deadTargets(temporary, "/base/").includes("a.html: /index.html"));
  assert.ok(!deadTargets(temporary, "/base/").includes("a.html: /base/index.html#x"));
});

const MAX_FULL_TEXT_BYTES = 300_000;

function isSnippet(path: string): boolean {
  return path.startsWith("docs/snippets/");
}

function repeated(values: readonly (string | undefined)[]): (string | undefined)[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}

const NONE = { notListed: [], notPages: [] };

function differences(listed: readonly (string | undefined)[], pages: readonly string[]) {
  return {
    notListed: pages.filter((page) => !listed.includes(page)),
    notPages: listed.filter((each) => each === undefined || !pages.includes(each)),
  };
}

function linksOf(items: readonly SidebarItem[]): string[] {
  return items.flatMap(({ link, items = [] }) => [...(link === undefined ? [] : [link]), ...linksOf(items)]);
}

function write(path: string, html: string): void {
  mkdirSync(dirname(join(temporary, path)), { recursive: true });
  writeFileSync(join(temporary, path), html);
}
