/** Programs under another name: a link in the workspace or in a temporary folder leads to them. */

import { readlinkSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve, sep } from "node:path";
import { orUndefined } from "../../core/errors.ts";

/** Links elsewhere often act by their own name, such as those of busybox and of version managers. */
const TEMPORARY = [tmpdir(), "/tmp", "/var/tmp"];

/** The kernel follows this many. */
const MAX_LINKS = 40;

/**
 * The names of the files that a program leads to as a link, seen from each of the folders. A copy and a hard link are files of
 * their own. The path of a program has a slash: without one the shell looks for it elsewhere.
 */
export function linkNames(path: string, folders: readonly string[], workspace: string): readonly string[] {
  if (!path.includes("/")) return [];
  const names = folders.flatMap((folder) =>
    targetsOf(resolve(workspace, folder, path), [resolve(workspace), ...TEMPORARY]),
  );
  return [...new Set(names)];
}

/** Several when the link leads to another link: each may have the name that a rule is about. */
function targetsOf(link: string, places: readonly string[]): string[] {
  const names: string[] = [];
  let file = link;
  for (let left = MAX_LINKS; left > 0; left--) {
    const target = orUndefined(() => readlinkSync(file));
    if (target === undefined) return names;
    const folder = realOr(dirname(file));
    if (names.length === 0 && !isBelow(places, file) && !isBelow(places.map(realOr), join(folder, "x"))) return [];
    file = resolve(folder, target);
    names.push(basename(file));
  }
  return names;
}

function realOr(path: string): string {
  return orUndefined(() => realpathSync.native(path)) ?? path;
}

function isBelow(places: readonly string[], file: string): boolean {
  return places.some((place) => file.startsWith(place.endsWith(sep) ? place : `${place}${sep}`));
}
