/** The rules of a project that deny and ask, as they are kept with its trust. Loads the reader of YAML: import it late. */

import { readFileLayer } from "./file-layer.ts";
import { SETTINGS } from "./settings.ts";
import type { ProjectFile } from "./trust-files.ts";
import type { NarrowingRule } from "./trust-record.ts";

/** Empty for a configuration with mistakes: with those no run starts while the project is trusted. */
export function rulesOfProject(files: readonly ProjectFile[]): NarrowingRule[] {
  const file = ".sous/config.yaml";
  const content = files.find(({ path }) => path === file)?.content;
  if (content === undefined) return [];
  const entry = readFileLayer(content, file, "project").layer.entries.get(SETTINGS.permissions.key);
  const read = entry === undefined ? undefined : SETTINGS.permissions.type.read(entry.given);
  if (read === undefined || !("value" in read)) return [];
  return read.value.flatMap(({ effect, pattern }) => (effect === "allow" ? [] : [{ effect, pattern }]));
}
