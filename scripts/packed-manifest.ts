/**
 * The manifest of the package as it is published. It differs from that of the clone: the command is the built one, imports lead to
 * `dist/` alone, and the Node that it needs is said. In a clone `npm ci` brings the right Node, and would warn about the wrong one.
 */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

export const ENGINES = { node: ">=22.18" };

/** Below the folder of the package; built from the source of the same name. */
export const COMMAND = "dist/app/cli/main.js";

/** Imports lead to the sources where this condition is set: in the clone. */
const SOURCE_CONDITION = "sous-source";

type Conditions = Record<string, string>;
type Manifest = { scripts: object; exports: Record<string, string | Conditions> };

export function packedManifest(text: string): string {
  const { scripts: _, exports, ...own } = JSON.parse(text) as Manifest;
  const published = { ...own, bin: { sous: COMMAND }, exports: withoutSources(exports), engines: ENGINES };
  return `${JSON.stringify(published, undefined, 2)}\n`;
}

function withoutSources(exports: Manifest["exports"]): Manifest["exports"] {
  const entries = Object.entries(exports).map(([door, conditions]) => {
    if (typeof conditions === "string") return [door, conditions] as const;
    return [
      door,
      Object.fromEntries(Object.entries(conditions).filter(([name]) => name !== SOURCE_CONDITION)),
    ] as const;
  });
  return Object.fromEntries(entries);
}

/** Puts the published manifest into the folder of the package, until `restoreManifest`. */
export function replaceManifest(folder: string): void {
  const text = readFileSync(manifestIn(folder), "utf8");
  mkdirSync(dirname(savedIn(folder)), { recursive: true });
  writeFileSync(savedIn(folder), text);
  writeFileSync(manifestIn(folder), packedManifest(text));
}

function restoreManifest(folder: string): void {
  renameSync(savedIn(folder), manifestIn(folder));
}

function manifestIn(folder: string): string {
  return join(folder, "package.json");
}

function savedIn(folder: string): string {
  return join(folder, ".cache/package.json");
}

// After packing.
if (process.argv[1] === import.meta.filename) restoreManifest(resolve(import.meta.dirname, "../packages/sous"));
