/** Pages and the help of commands use ordinary words: the part that acts is named, and a run continues. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { sourceFiles, sourceFolder } from "../source-files.ts";
import { pages } from "./markdown-files.ts";

const BANNED = /\b(?:nobody|somebody|whoever|anew|go(?:es)? on|so many)\b/gi;
/** A value of the event `approval-end`. */
const VALUE = /["`]nobody["`]/g;

test("the pages of docs, README and SECURITY have no banned words", () => {
  const found = pages()
    .filter(({ path }) => /^(?:docs\/|README|SECURITY)/.test(path) && !path.startsWith("docs/explanation/decisions/"))
    .flatMap(({ path, text }) => bannedIn(path, text));
  assert.deepEqual(found, []);
});

test("the tables of commands, options and exit codes have no banned words", () => {
  const folder = join(sourceFolder, "cli/table");
  const found = readdirSync(folder).flatMap((file) => bannedIn(file, readFileSync(join(folder, file), "utf8")));
  assert.deepEqual(found, []);
});

test("comments of the sources have no banned words", () => {
  const found = sourceFiles().flatMap(({ path, text }) => {
    const comments = text.split("\n").map((line) => (/^\s*(?:\/\*\*|\*|\/\/)/.test(line) ? line : ""));
    return bannedIn(path, comments.join("\n"));
  });
  assert.deepEqual(found, []);
});

test("a banned word is found with its line, in any case", () => {
  assert.deepEqual(bannedIn("page.md", "fine\nNobody goes on\n`nobody`"), ["page.md:2: Nobody", "page.md:2: goes on"]);
});

function bannedIn(path: string, text: string): string[] {
  return text
    .split("\n")
    .flatMap((line, index) =>
      (line.replaceAll(VALUE, "").match(BANNED) ?? []).map((word) => `${path}:${index + 1}: ${word}`),
    );
}
