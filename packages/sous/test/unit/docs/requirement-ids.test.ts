/** Every id in the name of a test can be looked up, and no file cites a page that is not in the repository. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { rootFolder } from "../../support/source-files.ts";

const ID = String.raw`[A-Z]\d+(?:\.\d+)?`;
/** The ids before the colon at the beginning of a name: `H3, B1.2: …`. */
const NAMED = new RegExp(String.raw`\b(?:test|suite)\(\s*["'\`](${ID}(?:(?:, | |–)${ID})*)[:,]`, "g");
/** Pages of earlier plans, which readers cannot open. */
const ELSEWHERE = /\b(?:design §|(?:decisions|design|reliability|traps|house|style|anchors)\.md\b|issue \d+\b)/;

test("every id in the name of a test has an entry in docs/reference/requirements.md", () => {
  const page = readFileSync(join(rootFolder, "docs/reference/requirements.md"), "utf8");
  const entries = new Set([...page.matchAll(new RegExp(String.raw`^\| (${ID}) \|`, "gm"))].map(([, id]) => id));
  const missing = testFiles().flatMap((file) => idsIn(readFileSync(file, "utf8")).filter((id) => !entries.has(id)));
  assert.deepEqual([...new Set(missing)], []);
});

test("no source, test or page cites a page that is not in the repository", () => {
  const files = ["packages/sous/src", "packages/sous/test", "interop", "scripts", "soak", "examples", "docs"].flatMap(
    (folder) => filesBelow(folder).filter((file) => /\.(?:ts|mjs|md)$/.test(file)),
  );
  const citing = files.filter((file) => file !== import.meta.filename && ELSEWHERE.test(readFileSync(file, "utf8")));
  assert.deepEqual(citing, []);
});

test("several ids before one colon are all found", () => {
  assert.deepEqual(idsIn('test("H3, B1.2: a") suite(`B1.4–B1.6: b`) test("R9 without a colon")'), [
    ...["H3", "B1.2"],
    ...["B1.4", "B1.6"],
  ]);
});

function idsIn(source: string): string[] {
  return [...source.matchAll(NAMED)].flatMap(([, ids = ""]) => ids.match(new RegExp(ID, "g")) ?? []);
}

function testFiles(): string[] {
  return ["packages/sous/test", "examples", "docs/snippets"].flatMap(filesBelow).filter((file) => file.endsWith(".ts"));
}

function filesBelow(folder: string): string[] {
  const files = readdirSync(join(rootFolder, folder), { recursive: true, encoding: "utf8" });
  return files.map((file) => join(rootFolder, folder, file));
}
