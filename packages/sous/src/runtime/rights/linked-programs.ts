/** Programs under another name: a link in the workspace or in a temporary folder leads to them. */

import { readdirSync, readlinkSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { orUndefined } from "../../core/errors.ts";
import { followLinks } from "./follow-links.ts";
import { isGlob, mayBecome } from "./open-words.ts";

/** Links elsewhere often act by their own name, such as those of busybox and of version managers. */
const TEMPORARY = [tmpdir(), "/tmp", "/var/tmp", "/dev/shm"];

/** The kernel follows this many. */
const MAX_LINKS = 40;
/** Max paths that a glob is replaced by on the way to its links. */
const MAX_PATHS = 2000;

type Search = {
  /** The folders where a program without a slash is looked for. */
  readonly searched?: readonly string[];
  /** The path has globs. */
  readonly isOpen?: boolean;
};

/**
 * The names of the files that a program leads to as a link, seen from each of the folders. A copy and a hard link are files of
 * their own. Undefined when too many files may be meant.
 */
export function linkNames(
  path: string,
  folders: readonly string[],
  workspace: string,
  { searched = [], isOpen = false }: Search = {},
): readonly string[] | undefined {
  const paths = path.includes("/") ? [path] : searched.map((folder) => `${folder}/${path}`);
  const files = new Set(paths.flatMap((each) => folders.map((folder) => from(resolve(workspace, folder), each))));
  const names = new Set<string>();
  for (const file of files) {
    const found = isOpen ? matchesOf(file) : [file];
    if (found === undefined) return undefined;
    for (const name of found.flatMap((each) => targetsOf(each, placesOf(workspace)))) names.add(name);
  }
  return [...names];
}

/** The folders of PATH in which links count. A relative one is a folder of wherever the shell is. */
export function searchedFolders(workspace: string, path: string): readonly string[] {
  const places = placesOf(workspace);
  return path.split(delimiter).filter((folder) => !isAbsolute(folder) || isBelow(places, join(folder, "x")));
}

/** The folders where a project has its own programs, from a folder up to the workspace. */
export function packageFolders(workspace: string, folder: string): readonly string[] {
  const top = resolve(workspace);
  let at = resolve(top, folder);
  const found = [at];
  for (; isBelow([top], at); at = dirname(at)) found.push(dirname(at));
  return found.flatMap((each) => [join(each, "node_modules/.bin"), join(each, ".venv/bin")]);
}

/** True for a link to a device or to what another process has open, from any of the folders. */
export function leadsToDevice(path: string, folders: readonly string[], workspace: string): boolean {
  return folders.some((folder) =>
    /^\/(?:dev\/(?!shm\/)|proc\/)/.test(followLinks(from(resolve(workspace, folder), path))),
  );
}

/** Several when the link leads to another link: each may have the name that a rule is about. */
function targetsOf(link: string, places: readonly string[]): string[] {
  const names: string[] = [];
  let file = link;
  for (let left = MAX_LINKS; left > 0; left--) {
    const target = orUndefined(() => readlinkSync(file));
    if (target === undefined) return names;
    const folder = realOr(dirname(file));
    if (names.length === 0 && !isBelow(places, resolve(file)) && !isBelow(places.map(realOr), join(folder, "x")))
      return [];
    file = from(folder, target);
    names.push(basename(file));
  }
  return names;
}

/** Not `join`: behind a link the kernel finds another folder for `..` than the text shows. */
function from(folder: string, path: string): string {
  return isAbsolute(path) ? path : `${folder}/${path}`;
}

/** The links and folders that a path with globs may stand for; undefined when there are too many. */
function matchesOf(path: string): readonly string[] | undefined {
  const names = path.split("/").slice(1);
  let found: readonly string[] = [""];
  for (const [index, name] of names.entries()) {
    const isLast = index === names.length - 1;
    found = isGlob(name)
      ? found.flatMap((folder) => entriesOf(folder, name, isLast))
      : found.map((folder) => `${folder}/${name}`);
    if (found.length > MAX_PATHS) return undefined;
  }
  return found;
}

function entriesOf(folder: string, glob: string, isLast: boolean): string[] {
  const entries = orUndefined(() => readdirSync(`${folder}/`, { withFileTypes: true })) ?? [];
  const isMatch = mayBecome(glob);
  return entries
    .filter((entry) => (entry.isSymbolicLink() || (!isLast && entry.isDirectory())) && isMatch(entry.name))
    .map(({ name }) => `${folder}/${name}`);
}

function placesOf(workspace: string): readonly string[] {
  return [resolve(workspace), ...TEMPORARY];
}

function realOr(path: string): string {
  return orUndefined(() => realpathSync.native(path)) ?? path;
}

function isBelow(places: readonly string[], file: string): boolean {
  return places.some((place) => file.startsWith(place.endsWith(sep) ? place : `${place}${sep}`));
}
