/** The paths of a command that lead through a link, so that an answer counts for where they lead. */

import { readdirSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { compileGlob } from "../../core/glob.ts";
import { type CommandAction, readPath } from "./action.ts";

/** These end a path in a word such as `--out=docs/a.txt`, and in a command that is not understood. */
const NO_PATH = /[\s"'`;|&<>(){}=,:@]+/;
const MAX_FOLDERS = 16;
/** A path begins in the first characters of a word, if it is one. */
const MAX_START = 64;
const MAX_FOUND = 4096;

/**
 * The programs of a command open files, and only they know which: everything in it that names a path through a link may be one, below each
 * folder that it names. Without links it is the path that the person reads. `folder` is the real one where it starts.
 */
export function linkedPaths(action: CommandAction, folder: string, home: string): string[] {
  const names = new Set(namesIn(action, home));
  const folders = new Set([folder]);
  // A folder that was found may hold the next one.
  for (const each of folders)
    for (const name of names)
      if (folders.size < MAX_FOLDERS && isFolder(resolve(each, name))) folders.add(resolve(each, name));
  const found = new Set<string>();
  for (const each of folders) {
    const entries = entriesOf(each);
    const there = [...names].filter((name) => /^[./]|[*?[]/.test(name) || entries.has(firstName(name)));
    for (const path of there.flatMap((name) => pathsOf(each, name))) {
      const { absolute } = readPath(path, { cwd: folder, root: folder });
      if (absolute.path !== absolute.named && found.size < MAX_FOUND) found.add(absolute.path);
    }
  }
  return [...found];
}

/** The words as the shell passes them on, and the pieces of the text for what is not understood; each also without what may stand before a path. */
function namesIn({ command, reading }: CommandAction, home: string): string[] {
  const words = reading.parts.flatMap(({ views }) => views.flatMap((view) => view.words.map(({ text }) => text)));
  const atHome = command.replaceAll(/\$\{HOME\}|\$HOME\b|(?<![^\s"'=:])~(?=\/)/g, () => home);
  const quoted = [...atHome.matchAll(/'([^']*)'|"([^"]*)"/g)].map(([, single, double]) => single ?? double ?? "");
  const written = [...atHome.split(/\s+/).map((word) => word.replaceAll(/["'\\]/g, "")), ...quoted];
  const pieces = [...words, ...written].flatMap((word) => [word, ...word.split(NO_PATH), ...afterSigns(word)]);
  return [...pieces, ...atHome.split(NO_PATH)]
    .flatMap((piece) => [piece, ...valuesOf(piece)])
    .filter((name) => name !== "");
}

/** Most words name nothing here, and a look into the folder is cheaper than one for each of them. */
function entriesOf(folder: string): ReadonlySet<string> {
  try {
    return new Set(readdirSync(folder).map(firstName));
  } catch {
    return new Set();
  }
}

/** As the most forgiving file system takes it. */
function firstName(path: string): string {
  return (path.split("/", 1)[0] ?? "").normalize("NFKC").toLowerCase();
}

/** The text behind each sign, so that a value may hold other signs. */
function afterSigns(word: string): string[] {
  return [...word.slice(0, MAX_START).matchAll(/[=:,@]/g)].map(({ index }) => word.slice(index + 1));
}

/** `-tdocs` may hold `docs`, and any other end of it. */
function valuesOf(option: string): string[] {
  if (!option.startsWith("-")) return [];
  return Array.from({ length: Math.min(option.length, MAX_START) }, (_, at) => option.slice(at + 1));
}

/** More than one for a name with wildcards. */
function pathsOf(folder: string, name: string): string[] {
  if (!/[*?[]/.test(name)) return [resolve(folder, name)];
  let found = [name.startsWith("/") ? "/" : folder];
  for (const part of name.split("/").filter((each) => each !== ""))
    found = found
      .flatMap((each) => (/[*?[]/.test(part) ? matching(each, part) : [resolve(each, part)]))
      .slice(0, MAX_FOUND);
  return [...found, resolve(folder, name)];
}

function matching(folder: string, pattern: string): string[] {
  try {
    const { matches } = compileGlob(pattern);
    return readdirSync(folder)
      .filter((name) => matches(name))
      .map((name) => resolve(folder, name));
  } catch {
    // There is no such folder, or the pattern is none: the shell leaves the word as it is.
    return [];
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch {
    return false;
  }
}
