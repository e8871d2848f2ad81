/**
 * The manifest of the package while it is packed. Which Node it needs is said to those who install the package, and not
 * to those who work on it: `npm ci` brings them the right one, and would warn about the wrong one.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

export const ENGINES = { node: ">=22.18" };

/** As it is published. */
export function packedManifest(text: string): string {
  return `${JSON.stringify({ ...JSON.parse(text), engines: ENGINES }, undefined, 2)}\n`;
}

/** As it is in the repository. */
export function ownManifest(text: string): string {
  const { engines: _, ...own } = JSON.parse(text);
  return `${JSON.stringify(own, undefined, 2)}\n`;
}

/** Changes the manifest in a folder. */
export function rewriteManifest(folder: string, rewrite: (text: string) => string): void {
  const file = resolve(folder, "package.json");
  writeFileSync(file, rewrite(readFileSync(file, "utf8")));
}

// After packing.
if (process.argv[1] === import.meta.filename) {
  rewriteManifest(resolve(import.meta.dirname, "../packages/sous"), ownManifest);
}
