/** The walk of docs/explanation/architecture.md names files and functions that exist. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { rootFolder, sourceFiles } from "../../support/source-files.ts";

const WALK = readFileSync(join(rootFolder, "docs/explanation/architecture.md"), "utf8");

/** `[file, function]` of each step. */
function stepsOf(page: string): [file: string, name: string][] {
  const rows = page.split("\n").filter((line) => /^\| \d+ \|/.test(line));
  return rows.flatMap((row) => {
    const place = row.split("|")[2] ?? "";
    const [, file = ""] = /`([\w/-]+\.ts)`/.exec(place) ?? [];
    return [...place.matchAll(/`(\w+)\(\)`/g)].map(([, name = ""]): [string, string] => [file, name]);
  });
}

test("every step of the walk names a file and a function in it", () => {
  const steps = stepsOf(WALK);
  assert.ok(steps.length >= 16);
  const texts = new Map(sourceFiles().map(({ path, text }) => [path, text]));
  const missing = steps.filter(
    ([file, name]) =>
      !new RegExp(`^(?:export )?(?:async )?function ${name}\\b|^  (?:async )?${name}\\(`, "m").test(
        texts.get(file) ?? "",
      ),
  );
  assert.deepEqual(missing, []);
});
