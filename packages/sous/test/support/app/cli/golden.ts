/** Compares a text with the file that holds what it should be; UPDATE_SNAPSHOTS=1 writes the file. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export function assertGolden(
  name: string,
  lines: readonly string[],
  folder = join(import.meta.dirname, "golden"),
): void {
  const file = join(folder, name);
  const actual = `${lines.join("\n")}\n`;
  if (process.env.UPDATE_SNAPSHOTS === "1") writeFileSync(file, actual);
  assert.equal(actual, readFileSync(file, "utf8"));
}
