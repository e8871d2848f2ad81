/** Every requirement of this version has a test that bears its id. */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { test } from "node:test";

/** Sections A, B, C, G, H (without the tools of the command line) and I, and the parts of D and F that are built. */
const IDS = [
  ...numbered("A", 5),
  ...numbered("B", 12),
  ...numbered("C", 9),
  ...["D1", "D2", "D6", "F5"],
  ...numbered("G", 6),
  ...numbered("H", 5),
  ...numbered("I", 4),
  ...["R1", "R2", "R4", "R5", "R6", "R7", "R9", "R11", "R13"],
];

function numbered(section: string, last: number): string[] {
  return Array.from({ length: last }, (_, index) => `${section}${index + 1}`);
}

test("one test at least is named after each requirement", () => {
  const folder = resolve(import.meta.dirname, "../..");
  const sources = globSync("{unit,system}/**/*.test.ts", { cwd: folder }).map((file) =>
    readFileSync(resolve(folder, file), "utf8"),
  );
  const names = sources.flatMap((source) => source.match(/\b(test|suite)\(\s*[`"']([^`"'\n]+)/g) ?? []).join("\n");
  // `A4, F5: …` names both.
  const missing = IDS.filter((id) => !new RegExp(`["'\`](?:[A-Z]\\d+, )*${id}\\b(?:, [A-Z]\\d+)*[: ]`).test(names));
  assert.deepEqual(missing, []);
});
