/** Most commands that models write in a day's work are understood: else the rule would be a nuisance. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { readCommandLine } from "../../../../src/runtime/rights/command-reading.ts";

const NOT_UNDERSTOOD = "? ";

suite("B5.3: the commands of a day's work", () => {
  const lines = readFileSync(join(import.meta.dirname, "daily-commands.txt"), "utf8").split("\n");
  const written = lines.filter((line) => line !== "" && !line.startsWith("#"));

  test("each command of the list is understood, or is not, as the list says", () => {
    // A command that is understood less than before asks a question that was not there before.
    const found = written.map((line) => {
      const command = line.startsWith(NOT_UNDERSTOOD) ? line.slice(NOT_UNDERSTOOD.length) : line;
      const { problem } = readCommandLine(unfolded(command), { home: "/home/me" });
      return problem === undefined ? command : `${NOT_UNDERSTOOD}${command}`;
    });
    assert.deepEqual(found, written);
  });

  test("the list has 160 or more commands, at least 85 % of which are understood", (t) => {
    const understood = written.filter((line) => !line.startsWith(NOT_UNDERSTOOD));
    const share = understood.length / written.length;
    t.diagnostic(`${written.length} commands, ${Math.round(share * 100)} % understood`);
    assert.ok(written.length >= 160 && share >= 0.85);
  });
});

/** A line break is written as in a program; `printf '%s\n'` is not one. */
function unfolded(line: string): string {
  return line.includes("<<") ? line.replaceAll("\\n", "\n") : line;
}
