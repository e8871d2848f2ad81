/** Imports of the files of the package, as a bundler sees them: also late ones, in every file that can be reached. */

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "rolldown/utils";

/** Imports of a door that are not files of the package, by their names; those of Node are left out. Throws for a file that is missing. */
export function importsOf(door: string): string[] {
  const files = new Set<string>();
  const others = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const name of importsIn(file)) {
      if (name.startsWith(".")) visit(resolved(file, name));
      else if (!name.startsWith("node:")) others.add(name);
    }
  };
  visit(door);
  return [...others].sort();
}

function importsIn(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const { module } = parseSync(file, text);
  const late = module.dynamicImports.map(({ moduleRequest }) => text.slice(moduleRequest.start, moduleRequest.end));
  const isPlain = late.every((each) => /^(["'`])[^$]+\1$/.test(each));
  if (!isPlain) throw new Error(`${file} imports what is only known when it runs: ${late.join(", ")}`);
  const exported = module.staticExports.flatMap(({ entries }) =>
    entries.map(({ moduleRequest }) => moduleRequest?.value),
  );
  const types = [...text.matchAll(/\bimport\("([^"]+)"\)/g)].map(([, name]) => name);
  return [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...exported.filter((name) => name !== undefined && name !== null),
    ...late.map((each) => each.slice(1, -1)),
    ...types.filter((name) => name !== undefined),
  ];
}

function resolved(file: string, name: string): string {
  const path = join(dirname(file), name);
  if (!file.endsWith(".d.ts")) return path;
  const declaration = path.replace(/\.[jt]s$/, ".d.ts");
  if (!existsSync(declaration)) throw new Error(`${file} names ${name}, which is not in the package`);
  return declaration;
}
