/** Help: short enough for a screen, right about every option, and the same as what completion and the reference say. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { EXIT, EXIT_CODE_TABLE } from "../../../../src/app/cli/exit-codes.ts";
import type { CommandEntry, OptionEntry } from "../../../../src/app/cli/table/entry.ts";
import { COMMAND_TABLE, helpOn } from "../../../../src/app/cli/table/help.ts";
import { assertGolden } from "../../../support/app/cli/golden.ts";
import { sourceFolder } from "../../../support/source-files.ts";

const SNAPSHOTS = join(import.meta.dirname, "../../../snapshots");
const CLI = join(sourceFolder, "app/cli");

suite("--help is as it was promised; UPDATE_SNAPSHOTS=1 writes the snapshot again", () => {
  for (const name of [undefined, ...COMMAND_TABLE.map((entry) => entry.name)]) {
    test(`${name === undefined ? "sous" : `sous ${name}`} --help is as promised`, () => {
      const snapshot = name === undefined ? "help.txt" : `help-${name}.txt`;
      const lines = helpOn(name).trimEnd().split("\n");
      assert.deepEqual(
        lines.filter((line) => line.length >= 80),
        [],
      );
      assertGolden(snapshot, lines, SNAPSHOTS);
    });
  }
});

test("sous --help fits a screen of 80 columns and 24 lines, and names every command", () => {
  const text = helpOn(undefined);
  assert.ok(text.trimEnd().split("\n").length < 24);
  for (const { name } of COMMAND_TABLE) assert.match(text, new RegExp(`^ {2}${name} {2}`, "m"));
});

test("the commands that are described are the commands there are", () => {
  const main = readFileSync(join(CLI, "main.ts"), "utf8");
  const loaded = [...main.matchAll(/^ {2}(\w+): async \(\) => \(await import/gm)].map(([, name]) => name);
  assert.deepEqual(COMMAND_TABLE.map(({ name }) => name).sort(), loaded.sort());
});

suite("the options of a command", () => {
  for (const entry of COMMAND_TABLE) {
    test(`sous ${entry.name} takes the options that are described`, async () => {
      const described = new Map(optionsOf(entry).map((option) => [option.name, option]));
      const taken = new Map<string, "switch" | "value">();
      for (const name of everyOption()) {
        const kind = await kindOf(entry, `--${name}`);
        if (kind !== undefined) taken.set(name, kind);
      }
      const expected = [...described.values()].map(({ name, value }) => [
        name,
        // One that may be left out takes none from the next word.
        value === undefined || value.startsWith("[") ? "switch" : "value",
      ]);
      assert.deepEqual([...taken].sort(), expected.sort());
      for (const { short } of described.values())
        if (short !== undefined) assert.notEqual(await kindOf(entry, `-${short}`), undefined, `-${short}`);
    });
  }
});

test("every code that a command ends with is described", () => {
  const described = EXIT_CODE_TABLE.map(({ code }) => code);
  assert.deepEqual(described.filter((code) => code < 128).sort(), Object.values(EXIT).sort());
  assert.deepEqual(
    described.filter((code) => code > 128),
    [129, 130, 141, 143],
  );
});

function optionsOf({ groups }: CommandEntry): OptionEntry[] {
  return groups.flatMap(({ options }) => options);
}

/** Every name that is an option anywhere, as the sources have it. */
function everyOption(): string[] {
  return [...new Set(COMMAND_TABLE.flatMap(optionsOf).map(({ name }) => name))];
}

/** What a command makes of an option, by its complaint: behind it comes one that no command has, so nothing is ever done. */
async function kindOf({ name }: CommandEntry, option: string): Promise<"switch" | "value" | undefined> {
  const complaint = await complaintOf(name, [option, "--no-such-option"]);
  if (complaint.includes(`has no option ${option}`)) return undefined;
  if (complaint.includes("has no option --no-such-option")) return "switch";
  assert.match(complaint, /needs a value; found "--no-such-option"/);
  return "value";
}

async function complaintOf(name: string, parameters: readonly string[]): Promise<string> {
  try {
    const { readRunRequest } = await import("../../../../src/app/cli/run/request.ts");
    // It is the only one that catches its own mistakes, to tell them in the format that was asked for.
    if (name === "run") readRunRequest(parameters);
    else await (await import(`../../../../src/app/cli/commands/${name}.ts`))[name](parameters);
  } catch (error) {
    return String(error);
  }
  return "";
}
