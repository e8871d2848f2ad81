/** Most commands that models write in a day's work are understood: else the rule would be a nuisance. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readCommandLine } from "../../../../src/runtime/rights/command-reading.ts";

test("B5.3: at least 75 % of 70 or more daily commands are understood", (t) => {
  const lines = readFileSync(join(import.meta.dirname, "daily-commands.txt"), "utf8").split("\n");
  const commands = lines.filter((line) => line !== "" && !line.startsWith("#")).map(unfolded);
  const problems = commands.flatMap((command) => readCommandLine(command, { home: "/home/me" }).problem ?? []);
  const share = 1 - problems.length / commands.length;
  t.diagnostic(`${commands.length} commands, ${Math.round(share * 100)} % understood`);
  assert.ok(commands.length >= 70 && share >= 0.75, problems.join("\n"));
});

/** A line break is written as in a program; `printf '%s\n'` is not one. */
function unfolded(line: string): string {
  return line.includes("<<") ? line.replaceAll("\\n", "\n") : line;
}
