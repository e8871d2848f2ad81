/** The corpus of attacks as a whole: every boundary of SECURITY.md has tests that are named after it, and a page lists them. */

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const TESTS = join(import.meta.dirname, "../..");
const ROOT = join(TESTS, "../../..");
const SECURITY = readFileSync(join(ROOT, "SECURITY.md"), "utf8");
const PAGE = readFileSync(join(ROOT, "docs/explanation/how-security-is-tested.md"), "utf8");

/** Not here: marks of where text came from (B2.3), the sandbox (B5.6) and servers of tools (B6.2, B6.3), which there are not yet. */
const IDS: readonly string[] = [
  ..."B1.1 B1.2 B1.3 B1.4 B1.5 B1.6 B1.7 B2.1 B2.2 B2.4 B2.5 B3.1 B3.2 B3.3".split(" "),
  ..."B4.1 B4.2 B4.3 B4.4 B4.5 B4.6 B5.1 B5.2 B5.3 B5.4 B5.5 B5.7".split(" "),
  ..."B6.1 B6.4 B6.5 B6.6 B8.1 B8.2 B9.1 B9.2".split(" "),
];

test("every boundary has a test or a suite that is named after it", () => {
  const sources = globSync("{unit,system}/**/*.test.ts", { cwd: TESTS }).filter(
    (file) => !file.endsWith("corpus.test.ts"),
  );
  const titles = sources.flatMap((file) =>
    Array.from(
      readFileSync(join(TESTS, file), "utf8").matchAll(/\b(?:test|suite)\(\s*(["`])(.*?)\1/gs),
      ([, , title = ""]) => title,
    ),
  );
  const named = new Set(titles.flatMap((title) => title.match(/\bB\d\.\d\b/g) ?? []));
  assert.deepEqual(
    IDS.filter((id) => !named.has(id)),
    [],
  );
});

test("every boundary of SECURITY.md has claims on the page about tests, and every claim names tests that are there", () => {
  const sections = PAGE.split("\n### ").slice(1);
  const claims = sections.flatMap((section) => section.split("\n- ").slice(1));
  const without = claims.filter((claim) => {
    const links = Array.from(
      claim.matchAll(/\]\([./]+packages\/sous\/test\/([^)]+\.test\.ts)\)/g),
      ([, path = ""]) => path,
    );
    return links.length === 0 || !links.every((path) => existsSync(join(TESTS, path)));
  });
  assert.deepEqual([claims.length > 50, without], [true, []]);
  const promised = Array.from(SECURITY.matchAll(/^### (.*\(B\d\))$/gm), ([, title]) => title);
  assert.deepEqual(
    sections.map((section) => section.split("\n")[0]),
    promised,
  );
});

test("the page about tests says how many attempts there are at each boundary, and 300 or more in all", () => {
  const rows = Array.from(PAGE.matchAll(/^\| (B\d) \| (\d+) \|/gm), ([, id, count]) => [id, Number(count)] as const);
  assert.deepEqual(
    rows.map(([id]) => id),
    [...new Set(IDS.map((id) => id.slice(0, 2)))],
  );
  assert.ok(rows.reduce((sum, [, count]) => sum + count, 0) >= 300);
});
