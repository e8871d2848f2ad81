/** The files of a project that can have an effect on sous, as one snapshot with one fingerprint. */

import { createHash } from "node:crypto";
import { lstat, readdir, readlink, realpath } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { codeOf, messageOf, UserError } from "../../../core/errors.ts";
import { readRegular } from "../../../machine/private-file.ts";
import { dialectOf, PROJECT_FOLDERS, placeIn } from "../agents/folders.ts";

/** Notes for agents: the first of these that is there is read, and no other. File tools write them when a person has said yes. */
export const NOTES_NAMES: readonly string[] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md"];

/** The files that sous may read of a trusted project, besides its notes and its list of servers. */
const PROJECT_PATHS: readonly string[] = [".sous", ...PROJECT_FOLDERS.filter((folder) => !folder.startsWith(".sous/"))];
const SERVERS = ".mcp.json";

/** Recordings have no effect by lying there. */
const WITHOUT_EFFECT = [".sous/cassettes"];
const MAX_FILES = 1000;
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_DEPTH = 16;

export type ProjectFile = {
  /** Relative to the root, with forward slashes. */
  readonly path: string;
  /** The path it leads to, when it is a link. */
  readonly target: string | undefined;
  /** Undefined for what is not a file, and for links out of the project. */
  readonly content: Buffer | undefined;
};

export type FileHash = { readonly path: string; readonly sha256: string };

export type ProjectSnapshot = { readonly sha256: string; readonly files: readonly ProjectFile[] };

/** Lists the files and folders of the project that are there. Opens nothing. */
export async function presentPaths(root: string): Promise<string[]> {
  const paths = await pathsIn(root);
  const found = await Promise.all(paths.map((path) => isThere(join(root, path))));
  return paths.filter((_, index) => found[index]);
}

/** All of them, with the notes that are read and no others. */
async function pathsIn(root: string): Promise<string[]> {
  const isPresent = await Promise.all(NOTES_NAMES.map((name) => isThere(join(root, name))));
  const notes = NOTES_NAMES[isPresent.indexOf(true)];
  return [...PROJECT_PATHS, ...(notes === undefined ? [] : [notes]), SERVERS];
}

/** Reads all of them. Throws a `UserError` when one cannot be read or there is too much. */
export async function readProject(root: string): Promise<ProjectSnapshot> {
  const files: ProjectFile[] = [];
  let bytes = 0;
  for (const path of await pathsIn(root)) await add(path.split("/"), []);
  files.sort((one, other) => (one.path < other.path ? -1 : 1));
  return { sha256: fingerprint(files), files };

  /** Name by name: a link on the way is not followed. */
  async function add([name, ...rest]: readonly string[], above: readonly string[]): Promise<void> {
    if (name === undefined) return;
    const path = [...above, name].join("/");
    if (WITHOUT_EFFECT.includes(path)) return;
    const found = await lstat(join(root, path)).catch(notThere);
    if (found === undefined || !canHaveEffect(path, found.isDirectory(), found.isSymbolicLink())) return;
    if (found.isDirectory() && rest.length > 0) return add(rest, [...above, name]);
    if (!found.isDirectory()) return addFile(path, found.isSymbolicLink(), found.isFile());
    if (above.length >= MAX_DEPTH) throw tooMuch(`${path} lies deeper than ${MAX_DEPTH} folders`);
    for (const each of (await inWords(path, readdir(join(root, path)))).sort()) await add([each], [...above, name]);
  }

  async function addFile(path: string, isLink: boolean, isFile: boolean): Promise<void> {
    if (files.some((each) => each.path === path)) return;
    if (files.length >= MAX_FILES) throw tooMuch(`there are more than ${MAX_FILES} files`);
    const absolute = join(root, path);
    const target = isLink ? await inWords(path, readlink(absolute)) : undefined;
    const real = isLink ? await realInside(absolute, root) : absolute;
    const isRead = real !== undefined && (isFile || (isLink && (await lstat(real)).isFile()));
    const content = isRead ? await inWords(path, readRegular(real, MAX_BYTES)) : undefined;
    bytes += content?.length ?? 0;
    if (bytes > MAX_BYTES) throw tooMuch(`its files are larger than ${MAX_BYTES / 1024 / 1024} MB together`);
    files.push({ path, target, content });
  }
}

/** In folders of agents only what is read as one is shown and compared; links are, though they are not followed. */
function canHaveEffect(path: string, isFolder: boolean, isLink: boolean): boolean {
  const folder = PROJECT_FOLDERS.find((each) => path.startsWith(`${each}/`));
  if (folder === undefined || isLink) return true;
  const below = path.slice(folder.length + 1);
  return placeIn(dialectOf(folder), isFolder ? `${below}/any.md` : below) !== undefined;
}

/** One hash for each file, to say later which of them have changed. */
export function hashesOf(files: readonly ProjectFile[]): FileHash[] {
  return files.map((file) => ({ path: file.path, sha256: fingerprint([file]) }));
}

/** The same project with other content in one file. */
export function withContent({ files }: Pick<ProjectSnapshot, "files">, path: string, content: Buffer): ProjectSnapshot {
  // Notes that are written are read instead of those that were there.
  const replaced = NOTES_NAMES.includes(path) ? NOTES_NAMES : [path];
  const others = files.filter((each) => !replaced.includes(each.path));
  const target = files.find((each) => each.path === path)?.target;
  const changed = [...others, { path, target, content }].sort((one, other) => (one.path < other.path ? -1 : 1));
  return { sha256: fingerprint(changed), files: changed };
}

/** Lengths before contents: no two sets of files make the same bytes. */
function fingerprint(files: readonly ProjectFile[]): string {
  const hash = createHash("sha256");
  for (const { path, target, content } of files) {
    for (const part of [Buffer.from(path), Buffer.from(target ?? "\0"), content ?? Buffer.from("\0")])
      hash.update(`${part === content ? "=" : "~"}${part.length}:`).update(part);
  }
  return hash.digest("hex");
}

function notThere(error: unknown): undefined {
  const code = codeOf(error);
  if (code === "ENOENT" || code === "ENOTDIR") return undefined;
  throw error;
}

function inWords<T>(path: string, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw new UserError(`${path} cannot be read (${messageOf(error)}): make it readable, or remove it`);
  });
}

function tooMuch(what: string): UserError {
  return new UserError(
    `This project cannot be trusted: ${what}. Keep only configuration in .sous and the agent folders.`,
  );
}

/** The path that a file or link leads to; undefined when that is outside of the folder, or nowhere. */
export async function realInside(path: string, folder: string): Promise<string | undefined> {
  try {
    const [real, home] = await Promise.all([realpath(path), realpath(folder)]);
    return real.startsWith(home.endsWith(sep) ? home : `${home}${sep}`) ? real : undefined;
  } catch {
    return undefined;
  }
}

/** Looks, opens nothing. */
export async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/**
 * The real path of the nearest folder with a `.sous` or `.git` entry, or that was trusted, else of the folder itself. What
 * is in the entry is not read: a forged one can only make a project smaller. `trusted` are real paths: a project whose
 * entries were deleted is still the one that was trusted.
 */
export async function projectRoot(cwd: string, trusted: readonly string[] = []): Promise<string> {
  const start = await realFolder(cwd);
  for await (const root of rootsFrom(start, trusted)) return root;
  return start;
}

/**
 * All of them, from the nearest outwards; empty when there is none. For what a smaller project must not gain: a folder
 * inside a repository may hold a `.sous` or `.git` of its own.
 */
export async function projectRoots(cwd: string, trusted: readonly string[] = []): Promise<string[]> {
  return Array.fromAsync(rootsFrom(await realFolder(cwd), [...trusted], MARKS));
}

const OWN_MARKS = [".sous", ".git"];
/** Other repositories are projects, too, whose programs are not ours. */
const MARKS = [...OWN_MARKS, ".hg", ".jj", ".svn"];

export function realFolder(cwd: string): Promise<string> {
  return realpath(cwd).catch(() => resolve(cwd));
}

async function* rootsFrom(
  start: string,
  trusted: readonly string[],
  marks: readonly string[] = OWN_MARKS,
): AsyncGenerator<string> {
  for (let folder = start; ; folder = dirname(folder)) {
    const found = await Promise.all(marks.map((mark) => isThere(join(folder, mark))));
    if (found.includes(true) || trusted.includes(folder)) yield folder;
    if (dirname(folder) === folder) return;
  }
}
