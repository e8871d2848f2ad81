/**
 * A file that is about to be written inside the workspace. Its folder is opened and its real path checked, a link
 * as the file itself is refused, and the new content is complete under another name before it replaces the old file.
 */

import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { access, type FileHandle, lstat, mkdir, open, realpath, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf, ToolFailure } from "../../core/errors.ts";
import { onDispose } from "../../core/scope.ts";
import {
  askedInside,
  isInside,
  nameInside,
  outside,
  type ProtectedPaths,
  pathOf,
  printable,
  refuseHardLink,
  type Workspace,
} from "./workspace.ts";

export type FileTarget = AsyncDisposable & {
  /** The path below the top, with forward slashes. */
  readonly name: string;
  /** Absolute, without links. */
  readonly real: string;
  /** Undefined when there is no file yet. */
  readonly existing: Stats | undefined;
  /** All of the existing file. */
  read(): Promise<Buffer>;
  /** Replaces the content as a whole, or changes nothing. */
  replace(content: Uint8Array, signal: AbortSignal): Promise<void>;
};

export const MAX_WRITTEN_BYTES: number = 5 * 1024 * 1024;

const MAX_PATH = 4000;
/** Max folders for one file; more is a mistake. */
const MAX_NEW_FOLDERS = 32;

/** Makes the folders on the way when `makeFolders` says so. */
export async function openTarget(
  workspace: Workspace,
  path: string,
  { protectedPaths, makeFolders }: { protectedPaths: ProtectedPaths; makeFolders: boolean },
): Promise<FileTarget> {
  if (path.length > MAX_PATH) throw new ToolFailure(`The path is too long: ${path.slice(0, 80)}…`);
  const asked = askedInside(workspace, path);
  if (asked === workspace.root || /[/\\]\.{0,2}$/.test(path)) {
    throw new ToolFailure(`${path} names a folder. Give the path of a file.`);
  }
  const name = basename(asked);
  const refuseProtected = (real: string): void => {
    const reason = protectedPaths.reason(asked, join(real, name));
    // guard: protected-names
    if (reason !== undefined) {
      throw new ToolFailure(`${path} is not written: ${reason}. Ask the person to change it, if it must be changed.`);
    }
  };
  refuseProtected(dirname(asked));
  const folder = await openFolder(workspace, dirname(asked), { path, refuseProtected, makeFolders });
  const turn = await takeTurn(join(folder.real, name));
  try {
    const existing = await statsOf(join(folder.path, name), path);
    const real = join(folder.real, name);
    if (existing !== undefined) refuseHardLink(existing, nameInside(workspace, real), path);
    return {
      name: printable(nameInside(workspace, real)),
      real,
      existing,
      read: () => readAll(join(folder.path, name), existing, path),
      replace: (content, signal) => replaceFile(workspace, folder, { name, path, existing, content, signal }),
      async [Symbol.asyncDispose]() {
        turn[Symbol.dispose]();
        await folder.handle.close();
      },
    };
  } catch (error) {
    turn[Symbol.dispose]();
    await folder.handle.close();
    throw error;
  }
}

/** The calls of this process that change a file, one after the other: the end of the last one, by path. */
const turns = new Map<string, Promise<void>>();

async function takeTurn(path: string): Promise<Disposable> {
  const before = turns.get(path);
  const { promise: end, resolve } = Promise.withResolvers<void>();
  turns.set(path, end);
  await before;
  return onDispose(() => {
    if (turns.get(path) === end) turns.delete(path);
    resolve();
  });
}

/** `path` leads to the very folder that was checked, whatever happens to its name; `real` is where it lies. */
type OpenFolder = { handle: FileHandle; path: string; real: string };
/** `refuseProtected` takes the folder without links in which the file would lie. */
type Wanted = { path: string; refuseProtected(folder: string): void; makeFolders: boolean };

async function openFolder(workspace: Workspace, asked: string, wanted: Wanted): Promise<OpenFolder> {
  const { path, refuseProtected } = wanted;
  const { real, missing } = await existingPart(workspace, asked, path);
  if (missing.length > 0 && !wanted.makeFolders)
    throw new ToolFailure(`No file at ${path}. Use glob to find its name.`);
  if (missing.length > MAX_NEW_FOLDERS) {
    throw new ToolFailure(
      `${path.slice(0, 200)} needs ${missing.length} new folders; at most ${MAX_NEW_FOLDERS} are made.`,
    );
  }
  refuseProtected(join(real, ...missing));
  let folder = await openAt(workspace, real, real, path);
  for (const part of missing) {
    const above = folder;
    try {
      // It may have been made in the meantime; opening it checks that it is a folder.
      await mkdir(join(above.path, part)).catch(ignoring("EEXIST", path));
      folder = await openAt(workspace, join(above.path, part), join(above.real, part), path);
    } finally {
      await above.handle.close();
    }
  }
  try {
    // A link swapped in on the way may have led to another folder of the workspace.
    refuseProtected(folder.real);
    return folder;
  } catch (error) {
    await folder.handle.close();
    throw error;
  }
}

/** The part of a path that exists, without links, and the names that are still to be made. */
async function existingPart(
  workspace: Workspace,
  asked: string,
  path: string,
): Promise<{ real: string; missing: string[] }> {
  const missing: string[] = [];
  for (let folder = asked; ; folder = dirname(folder)) {
    const real = await realpath(folder).catch(ignoring("ENOENT", path));
    if (real !== undefined) {
      if (!isInside(workspace.root, real)) throw outside(path); // guard: real-folder-inside
      return { real, missing };
    }
    // The workspace itself was deleted.
    if (folder === workspace.root) throw outside(path);
    missing.unshift(basename(folder));
  }
}

const FOLDER = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_DIRECTORY ?? 0);

async function openAt(workspace: Workspace, at: string, real: string, path: string): Promise<OpenFolder> {
  const handle = await open(at, FOLDER).catch((error: unknown) => fail(error, path));
  try {
    const opened = await pathOf(handle);
    if (opened === undefined) {
      // Elsewhere than on Linux: the path must still be without links.
      const now = await realpath(real).catch((error: unknown) => fail(error, path));
      if (now !== real) throw outside(path);
      return { handle, path: real, real };
    }
    if (!isInside(workspace.root, opened)) throw outside(path);
    return { handle, path: `/proc/self/fd/${handle.fd}`, real: opened };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The stats of what is at a path now. Only a regular file may be replaced. */
async function statsOf(at: string, path: string): Promise<Stats | undefined> {
  const stats = await lstat(at).catch(ignoring("ENOENT", path));
  if (stats === undefined) return undefined;
  if (stats.isFile()) return stats;
  if (stats.isDirectory()) throw new ToolFailure(`${path} is a folder. Give the path of a file.`);
  if (stats.isSymbolicLink()) throw new ToolFailure(`${path} is a link. Name the file it leads to, if that is inside.`);
  throw new ToolFailure(`${path} is not a regular file (a device, pipe or socket) and is not written.`);
}

const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

async function readAll(at: string, existing: Stats | undefined, path: string): Promise<Buffer> {
  if (existing === undefined) throw new ToolFailure(`No file at ${path}. Use glob to find its name.`);
  await using handle = await open(at, READ).catch((error: unknown) => fail(error, path));
  const stats = await handle.stat();
  if (!isSame(stats, existing)) throw changed(path);
  if (stats.size > MAX_WRITTEN_BYTES) {
    throw new ToolFailure(`${path} has ${stats.size} bytes, and at most ${MAX_WRITTEN_BYTES} can be edited.`);
  }
  const bytes = Buffer.alloc(stats.size);
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
  return bytes.subarray(0, bytesRead);
}

type Replacement = {
  name: string;
  path: string;
  existing: Stats | undefined;
  content: Uint8Array;
  signal: AbortSignal;
};

const NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

async function replaceFile(workspace: Workspace, folder: OpenFolder, replacement: Replacement): Promise<void> {
  const { name, path, existing, content, signal } = replacement;
  const at = join(folder.path, name);
  // Renaming over a file needs no right to write it, so check that right first.
  if (existing !== undefined) await access(at, constants.W_OK).catch((error: unknown) => fail(error, path));
  signal.throwIfAborted();
  const draft = join(folder.path, `.sous-${randomBytes(9).toString("hex")}.tmp`);
  // A new file gets the default mode; the draft of an existing one is private until it has the mode of that file.
  const handle = await open(draft, NEW, existing === undefined ? 0o666 : 0o600).catch((error: unknown) =>
    fail(error, path),
  );
  try {
    await writeDraft(handle, content, existing);
    signal.throwIfAborted();
    await refuseIfChanged(workspace, folder, at, replacement);
    await rename(draft, at);
  } catch (error) {
    await unlink(draft).catch(() => undefined);
    fail(error, path);
  }
}

async function writeDraft(draft: FileHandle, content: Uint8Array, existing: Stats | undefined): Promise<void> {
  await using handle = draft;
  await handle.writeFile(content);
  if (existing !== undefined) {
    const { uid, gid } = await handle.stat();
    // Only a privileged user may change the owner; for others the new file is their own.
    if (uid !== existing.uid || gid !== existing.gid) {
      await handle.chown(existing.uid, existing.gid).catch(() => undefined);
    }
    await handle.chmod(existing.mode & 0o777);
  }
  await handle.sync();
}

/** The last check before the new file replaces the old one: neither the folder was moved nor the file written meanwhile. */
async function refuseIfChanged(
  workspace: Workspace,
  folder: OpenFolder,
  at: string,
  { path, existing }: Replacement,
): Promise<void> {
  const opened = (await pathOf(folder.handle)) ?? (await realpath(folder.real));
  if (opened !== folder.real || !isInside(workspace.root, opened)) throw outside(path);
  const now = await statsOf(at, path);
  if (now === undefined || existing === undefined ? now !== existing : !isSame(now, existing)) throw changed(path);
}

function isSame(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev && a.size === b.size && a.mtimeMs === b.mtimeMs;
}

function changed(path: string): ToolFailure {
  return new ToolFailure(`${path} was changed by another program at this moment. Read it again, then try again.`);
}

/** Undefined for one kind of error; others become failures with an explanation. */
function ignoring(code: string, path: string): (error: unknown) => undefined {
  return (error) => (codeOf(error) === code ? undefined : fail(error, path));
}

function fail(error: unknown, path: string): never {
  switch (codeOf(error)) {
    case "ENOENT":
      throw new ToolFailure(`${path} or its folder is gone. Use list_files to see what is there.`);
    case "EACCES":
    case "EPERM":
    case "EROFS":
      throw new ToolFailure(`${path} may not be written: permission denied. Continue without it.`);
    case "ENOTDIR":
    case "ELOOP":
    case "EEXIST":
      throw new ToolFailure(
        `A part of ${path} is a file or a link, not a folder. Use list_files to see what is there.`,
      );
    case "EISDIR":
      throw new ToolFailure(`${path} is a folder. Give the path of a file.`);
    case "ENAMETOOLONG":
      throw new ToolFailure(`The path is too long: ${path.slice(0, 80)}…`);
    case "ENOSPC":
    case "EDQUOT":
      throw new ToolFailure(`${path} was not written: the disk is full. Nothing was changed.`);
    default:
      throw error;
  }
}
