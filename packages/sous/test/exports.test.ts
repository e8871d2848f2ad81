/** What others can import is a promise: a change of it shows up as a change of the snapshot. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { parseSync } from "rolldown/utils";
import { packageFolder, readManifest } from "./source-files.ts";

const snapshot = join(import.meta.dirname, "snapshots/exports.txt");

test("the list of exports is as it was promised; UPDATE_SNAPSHOTS=1 promises a new one", async () => {
  const doors = Object.entries(readManifest().exports).flatMap(([subpath, conditions]) =>
    typeof conditions === "string" ? [] : [[subpath, conditions["sous-source"] ?? ""] as const],
  );
  const sections = await Promise.all(doors.map(([subpath, file]) => describeDoor(subpath, join(packageFolder, file))));
  const actual = `${sections.join("\n\n")}\n`;
  if (process.env.UPDATE_SNAPSHOTS === "1") {
    mkdirSync(dirname(snapshot), { recursive: true });
    writeFileSync(snapshot, actual);
  }
  assert.equal(actual, readFileSync(snapshot, "utf8"));
});

async function describeDoor(subpath: string, file: string): Promise<string> {
  const values = Object.keys(await import(pathToFileURL(file).href)).sort();
  const types = typeNames(file).sort();
  const lines = [...values.map((name) => `value ${name}`), ...types.map((name) => `type  ${name}`)];
  return [`# ${subpath.replace(/^\./, "sous")}`, ...lines].join("\n");
}

/** The names a door exports as types. Each is written out there: `export *` would promise what nobody reads. */
function typeNames(file: string): string[] {
  return parseSync(file, readFileSync(file, "utf8")).program.body.flatMap((node) => {
    assert.notEqual(node.type, "ExportAllDeclaration", `${file} names what it exports`);
    if (node.type !== "ExportNamedDeclaration") return [];
    const listed = node.specifiers
      .filter((specifier) => node.exportKind === "type" || specifier.exportKind === "type")
      .map(({ exported }) => (exported.type === "Literal" ? exported.value : exported.name));
    const declared =
      node.declaration?.type === "TSTypeAliasDeclaration" || node.declaration?.type === "TSInterfaceDeclaration"
        ? [node.declaration.id.name]
        : [];
    return [...listed, ...declared];
  });
}
