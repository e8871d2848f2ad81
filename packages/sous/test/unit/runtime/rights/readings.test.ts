/** The reading of each of many commands: its programs and words as rules see them, its files, or why it is not understood. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readCommandLine } from "../../../../src/runtime/rights/command-reading.ts";
import type { ShellWord } from "../../../../src/runtime/rights/shell-words.ts";

const file = join(import.meta.dirname, "readings.txt");

/** What a rule can see of it, in short: `program word*` for a word that is open behind its beginning. */
function reading(command: string): string[] {
  const { parts, files, problem, hasUnknownFile, canonical } = readCommandLine(command, { home: "/home/me" });
  const word = ({ text, isOpen }: ShellWord) => `${JSON.stringify(text).slice(1, -1) || '""'}${isOpen ? "…" : ""}`;
  return [
    ...(problem === undefined ? [] : [`not understood: ${problem}${hasUnknownFile ? " (a file)" : ""}`]),
    ...parts.flatMap(({ views }) =>
      views.map(({ words, finds }) => `${finds}: ${words.map((each) => word(each)).join(" | ")}`),
    ),
    ...files.map(({ kind, paths, isSure }) => `${kind}s ${paths.join(" or ")}${isSure ? "" : ", perhaps"}`),
    ...(canonical === undefined ? [] : [`is ${JSON.stringify(canonical)}`]),
  ];
}

// The sed and the bash of macOS read some of them otherwise.
const skip = process.platform === "darwin";

test("B5.3: each command is read as it is written down; UPDATE_SNAPSHOTS=1 writes the readings", { skip }, () => {
  const written = readFileSync(file, "utf8");
  const commands = written.split("\n").filter((line) => line.startsWith('"'));
  const found = commands
    .flatMap((line) => [line, ...reading(JSON.parse(line) as string).map((each) => `  ${each}`)])
    .join("\n");
  if (process.env.UPDATE_SNAPSHOTS === "1") writeFileSync(file, `${found}\n`);
  else assert.deepEqual(found.split("\n"), written.trimEnd().split("\n"));
});
