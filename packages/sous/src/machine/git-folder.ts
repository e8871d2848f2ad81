/** The folders where git keeps a repository, found without git. Its files may be anything: only plain files are read, and no more than a path of them. */

import { lstat, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { codeOf } from "../core/errors.ts";
import { trimEndOf } from "../core/truncate.ts";
import { readBeginning } from "./private-file.ts";

/** No path is longer. */
const MAX_PATH = 4096;

export type GitFolders = {
  /** The folder with the files of the project. */
  readonly top: string;
  /** The folder of this worktree, with its `HEAD`. */
  readonly own: string;
  /** The folder that all worktrees of the repository share, with its `config`. */
  readonly common: string;
};

/** The folders of the repository whose `.git` lies in `top`; undefined when there is none. Throws for one that cannot be read. */
export async function gitFoldersAt(top: string): Promise<GitFolders | undefined> {
  const path = await ifThere(realpath(join(top, ".git")));
  if (path === undefined) return undefined;
  if ((await lstat(path)).isDirectory()) return { top, ...(await foldersOf(path)) };
  // A worktree and a submodule have a file that says where the folder is.
  const [, named] = /^gitdir: *([^\r\n]+)/.exec(await readPath(path)) ?? [];
  if (named === undefined) throw new Error("it names no folder");
  return { top, ...(await foldersOf(await realpath(resolve(top, named)))) };
}

/** The same of every folder from this one outwards. One that cannot be read counts as none. */
export async function gitFoldersAround(folder: string): Promise<GitFolders[]> {
  const found = await gitFoldersAt(folder).catch(() => undefined);
  const above = dirname(folder) === folder ? [] : await gitFoldersAround(dirname(folder));
  return found === undefined ? above : [found, ...above];
}

/** `own` is a folder that git keeps a repository in. */
export async function foldersOf(own: string): Promise<Omit<GitFolders, "top">> {
  const file = join(own, "commondir");
  const isShared = (await ifThere(lstat(file))) !== undefined;
  const named = isShared ? trimEndOf(await readPath(await realpath(file)), "\r\n") : ".";
  return { own, common: await realpath(resolve(own, named)) };
}

/** As git takes it: to the first byte that no path has, whatever follows the line ends behind it. */
async function readPath(path: string): Promise<string> {
  // Looks first: opening a pipe would already be noticed.
  if (!(await lstat(path)).isFile()) throw new Error("it is not a file");
  const [text = ""] = (await readBeginning(path, MAX_PATH * 2)).toString("utf8").split("\0", 1);
  if (trimEndOf(text, "\r\n").length > MAX_PATH) throw new Error("it names no path");
  return text;
}

/** Undefined for a path that leads nowhere. */
export async function ifThere<T>(looking: Promise<T>): Promise<T | undefined> {
  try {
    return await looking;
  } catch (error) {
    if (MISSING.includes(String(codeOf(error)))) return undefined;
    throw error;
  }
}

const MISSING = ["ENOENT", "ENOTDIR", "EACCES", "ENAMETOOLONG"];
