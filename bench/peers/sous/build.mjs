/** A file of the published build: of the one in `SOUS_DIST`, or of the one that was built last. */

import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const dist = process.env.SOUS_DIST ?? resolve(import.meta.dirname, "../../../packages/sous/dist");

export function builtSous(file) {
  return import(pathToFileURL(join(dist, file)));
}
