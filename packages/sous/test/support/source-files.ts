/** The sources of the package as the tests of the house read them. */

import { readdirSync, readFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import type { SourceFile } from "./star.ts";

export const packageFolder: string = resolve(import.meta.dirname, "../..");
export const rootFolder: string = resolve(packageFolder, "../..");
export const sourceFolder: string = join(packageFolder, "src");

/** Every file of `src/` that is not a test. */
export function sourceFiles(): SourceFile[] {
  return readdirSync(sourceFolder, { recursive: true, encoding: "utf8" })
    .map((path) => path.split(sep).join("/"))
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(sourceFolder, path), "utf8") }));
}

export type Manifest = { version: string; exports: Record<string, string | Record<string, string>> };

export function readManifest(): Manifest {
  return JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8"));
}
