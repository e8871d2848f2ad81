/** The exports of the package are a promise: a change of one shows up as a change of the snapshot. */

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { parseSync } from "rolldown/utils";
import { exampleFiles } from "../../../../scripts/repository-files.ts";
import { packageFolder, readManifest, rootFolder } from "../support/source-files.ts";

const snapshot = join(import.meta.dirname, "../snapshots/exports.txt");

test("the list of exports is as it was promised; UPDATE_SNAPSHOTS=1 promises a new one", async () => {
  const sections = await Promise.all(doors().map(([subpath, file]) => describeDoor(subpath, file)));
  const actual = `${sections.join("\n\n")}\n`;
  if (process.env.UPDATE_SNAPSHOTS === "1") {
    mkdirSync(dirname(snapshot), { recursive: true });
    writeFileSync(snapshot, actual);
  }
  assert.equal(actual, readFileSync(snapshot, "utf8"));
});

test("the front door has at most 80 names", async () => {
  const { values, types } = await namesOf("src/index.ts");
  assert.ok(values.length + types.length <= 80, `sous exports ${values.length + types.length} names`);
});

test("no name is exported by two doors", async () => {
  const names = (await Promise.all(doors().map(([, file]) => namesOf(file)))).flatMap(({ values, types }) => [
    ...values,
    ...types,
  ]);
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  );
});

test("every exported function and class is used in an example; the kit for tests has a page of its own", async () => {
  const programs = exampleFiles(rootFolder).filter((file) => file.endsWith(".ts"));
  const used = new Set(
    programs.flatMap((file) =>
      [...readFileSync(join(rootFolder, file), "utf8").matchAll(/^import \{([^}]*)\} from "sous/gm)].flatMap(
        ([, names = ""]) => names.split(",").map((name) => name.trim()),
      ),
    ),
  );
  const others = doors().filter(([subpath]) => subpath !== "./testing");
  const values = (await Promise.all(others.map(([, file]) => namesOf(file)))).flatMap((names) => names.values);
  assert.deepEqual(
    values.filter((name) => !used.has(name)),
    [],
  );
});

function doors(): (readonly [subpath: string, file: string])[] {
  return Object.entries(readManifest().exports).flatMap(([subpath, conditions]) =>
    typeof conditions === "string" ? [] : [[subpath, conditions["sous-source"] ?? ""] as const],
  );
}

async function namesOf(door: string): Promise<{ values: string[]; types: string[] }> {
  const file = join(packageFolder, door);
  return { values: Object.keys(await import(pathToFileURL(file).href)).sort(), types: typeNames(file).sort() };
}

async function describeDoor(subpath: string, door: string): Promise<string> {
  const { values, types } = await namesOf(door);
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
