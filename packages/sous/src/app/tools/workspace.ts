/**
 * Opens files and folders inside the workspace and nowhere else. A path is resolved and compared by segment, the last
 * link is not followed, and the real path of the open file is checked, so that a link swapped in between has no effect.
 */

import { constants, type Dirent, lstatSync, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink, realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { codeOf, ToolFailure } from "../../core/errors.ts";
import { type FileGuard, type GuardPaths, guardOf } from "../../core/guarded-files.ts";
import { isInstalled, whyNotPlain } from "../../core/plain-path.ts";

export type Workspace = {
  /** The real path of its top folder. */
  readonly root: string;
};

export type OpenedFile = AsyncDisposable & {
  readonly handle: FileHandle;
  readonly size: number;
  /** The path below the top, with forward slashes: how the tools name it. */
  readonly name: string;
};

type Located = { real: string; isFolder: boolean };

export type FolderEntry = { name: string; kind: "file" | "folder" | "link" | "other" };

export async function openWorkspace(root: string): Promise<Workspace> {
  return { root: await realpath(root).catch((error: unknown) => fail(error, root, "folder")) };
}

/** Opens a regular file for reading. */
export async function openFile(workspace: Workspace, path: string): Promise<OpenedFile> {
  const real = await resolveInside(workspace, path, "file");
  // Checked before it is opened: opening a device or a pipe can already have an effect.
  refuseUnlessFile(await lstat(real).catch((error: unknown) => fail(error, path, "file")), path);
  return openKnownFile(workspace, real, path);
}

/** Opens a file that a walk has just seen as a regular one; `real` is its absolute path without links. */
export async function openKnownFile(workspace: Workspace, real: string, path: string): Promise<OpenedFile> {
  const handle = await openAt(real, path, "file");
  try {
    const stats = await handle.stat();
    refuseUnlessFile(stats, path);
    refuseHardLink(stats, nameInside(workspace, real), path);
    await refuseIfElsewhere(workspace, handle, real, path);
    return {
      handle,
      size: stats.size,
      name: printable(nameInside(workspace, real)),
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Finds where a path inside the workspace really leads, without opening it. */
export async function locate(workspace: Workspace, path: string): Promise<Located> {
  const real = await resolveInside(workspace, path, "folder");
  const stats = await lstat(real).catch((error: unknown) => fail(error, path, "folder"));
  return { real, isFolder: stats.isDirectory() };
}

/** The entries of a folder, by name; `real` comes from `locate` or from a walk. */
export async function readFolder(workspace: Workspace, real: string, path: string): Promise<FolderEntry[]> {
  await using handle = await openAt(real, path, "folder");
  const isNamed = await refuseIfElsewhere(workspace, handle, real, path);
  // On a kernel that names open files, the folder that was checked is the one that is read.
  const folder = isNamed ? `/proc/self/fd/${handle.fd}` : real;
  const listing = readdir(folder, { withFileTypes: true });
  const entries = await listing.catch((error: unknown) => fail(error, path, "folder"));
  if (!isNamed) await refuseIfElsewhere(workspace, handle, real, path);
  return entries
    .map((entry): FolderEntry => ({ name: entry.name, kind: kindOf(entry) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function kindOf(entry: Dirent): FolderEntry["kind"] {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "folder";
  return entry.isSymbolicLink() ? "link" : "other";
}

/** The name of a real path for people and models: below the top, with forward slashes. */
export function nameInside(workspace: Workspace, real: string): string {
  const name = relative(workspace.root, real);
  return name === "" ? "." : sep === "/" ? name : name.replaceAll(sep, "/");
}

/** The absolute path that is asked for, with its links. */
export function askedInside(workspace: Workspace, path: string): string {
  if (path.includes("\0")) throw new ToolFailure("A path cannot hold a NUL byte.");
  const problem = whyNotPlain(path);
  if (problem !== undefined)
    throw new ToolFailure(`${printable(path)} is not a plain path: ${problem}. Begin it with ./ if this is its name.`);
  const asked = resolve(workspace.root, path);
  if (!isInside(workspace.root, asked)) throw outside(path);
  return asked;
}

async function resolveInside(workspace: Workspace, path: string, kind: Kind): Promise<string> {
  const asked = askedInside(workspace, path);
  const real = await realpath(asked).catch((error: unknown) => fail(error, path, kind));
  if (!isInside(workspace.root, real)) throw outside(path);
  return real;
}

/** Compared by segment: `/work-evil` is not inside `/work`. */
export function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

type Kind = "file" | "folder";

// Not every system has every flag. O_NONBLOCK: a pipe that replaced a file must not block.
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);

function openAt(real: string, path: string, kind: Kind): Promise<FileHandle> {
  const flags = kind === "folder" ? READ | (constants.O_DIRECTORY ?? 0) : READ;
  return open(real, flags).catch((error: unknown) => fail(error, path, kind));
}

function refuseUnlessFile(stats: Stats, path: string): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw new ToolFailure(`${path} is a folder. Use list_files to see what it holds.`);
  throw new ToolFailure(`${path} is not a regular file (a device, pipe, socket or link) and is not opened.`);
}

/** A file with several names, of which one may lie outside the workspace. A walk leaves it out and says so. */
export class HardLinkFailure extends ToolFailure {}

/**
 * A hard link is refused: it is not known where the other names of the file lie. Below folders of installed packages it
 * is not, when all users of the machine may read the file: a secret that lies outside is private.
 */
export function refuseHardLink(stats: Stats, name: string, path: string): void {
  if (stats.nlink <= 1) return;
  if (isInstalled(name, stats.mode)) return;
  throw new HardLinkFailure(
    `${path} is a hard link: the same file has another name, perhaps outside the workspace, so it is not opened. ` +
      "Continue without it, or ask the person for a copy.",
  );
}

/** Throws when an open file lies outside. True when the kernel named its path. */
async function refuseIfElsewhere(
  workspace: Workspace,
  handle: FileHandle,
  real: string,
  path: string,
): Promise<boolean> {
  const opened = await pathOf(handle);
  if (opened !== undefined) {
    if (!isInside(workspace.root, opened)) throw outside(path);
    return true;
  }
  // Elsewhere than on Linux: the path must still be without links, and name the very file that is open.
  const now = await realpath(real).catch((error: unknown) => fail(error, path, "file"));
  const named = await lstat(now).catch((error: unknown) => fail(error, path, "file"));
  const stats = await handle.stat();
  if (now !== real || named.ino !== stats.ino || named.dev !== stats.dev) throw outside(path);
  return false;
}

/** The path of an open file; undefined where the kernel does not say. */
export async function pathOf(handle: FileHandle): Promise<string | undefined> {
  if (process.platform !== "linux") return undefined;
  return readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
}

export function outside(path: string): ToolFailure {
  return new ToolFailure(
    `${path} leads outside the workspace. Give a path inside it, relative to its top folder; list_files shows what is there.`,
  );
}

function fail(error: unknown, path: string, kind: Kind): never {
  const found = kind === "file" ? "Use glob to find its name." : "Use list_files on its parent to see the names.";
  switch (codeOf(error)) {
    case "ENOENT":
      throw new ToolFailure(`No ${kind} at ${path}. ${found}`);
    case "ENOTDIR":
      throw new ToolFailure(
        kind === "folder" ? `${path} is not a folder. Use read_file for a file.` : `No file at ${path}. ${found}`,
      );
    case "EACCES":
    case "EPERM":
      throw new ToolFailure(`${path} may not be read: permission denied. Continue without it.`);
    case "ELOOP":
      throw new ToolFailure(`${path} is a link that leads nowhere. Name the file itself.`);
    case "ENAMETOOLONG":
      throw new ToolFailure(`The path is too long: ${path.slice(0, 80)}…`);
    case "ENXIO":
      throw new ToolFailure(`${path} is not a regular file (a device, pipe, socket or link) and is not opened.`);
    default:
      throw error;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

export function printable(name: string): string {
  return name.toWellFormed().replace(CONTROL, "\ufffd");
}

/** The paths that the tools that write refuse by themselves, whatever rules and people allow. */
export type ProtectedPaths = {
  /** Says why a file must not be written; undefined when it may be. Both are absolute: as it was asked for, and without links. */
  reason(asked: string, real: string): string | undefined;
};

/** Without paths, names are judged from the top of the workspace. */
export function protectPaths(workspace: Workspace, paths: GuardPaths = { top: workspace.root }): ProtectedPaths {
  const guard = (path: string): FileGuard | undefined => guardOf(path, paths, isThere);
  return {
    reason(asked, real) {
      const [named, found] = [guard(asked), guard(real)];
      const refused = [named, found].find((each) => each?.effect === "refuse");
      if (refused !== undefined) return refused.reason;
      // The rules saw the name that was asked for. A link that was swapped in since then leads to no guarded file.
      const isHidden = found !== undefined && named === undefined;
      return isHidden ? `it is reached through a link, and ${found.reason}; name the file itself` : undefined;
    },
  };
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}
