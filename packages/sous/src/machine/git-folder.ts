/** The folders where git keeps a repository, found without git. Its files may be anything: only small plain files are read. */

import { lstat, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { codeOf } from "../core/errors.ts";
import { trimEndOf } from "../core/truncate.ts";
import { readRegular } from "./private-file.ts";

/** Git takes a `.git` file of this size and no larger one. */
const MAX_BYTES = 1024 * 1024;

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
  const [, named] = /^gitdir: *([^\r\n]+)/.exec(await readText(path)) ?? [];
  if (named === undefined) throw new Error("it names no folder");
  return { top, ...(await foldersOf(await realpath(resolve(top, named)))) };
}

/** A repository that git may be able to read and we are not: it may be any. */
export type UnreadFolders = { readonly top: string; readonly common: undefined };

/** The same of every folder from this one outwards. One that leads nowhere is none. */
export async function gitFoldersAround(folder: string): Promise<(GitFolders | UnreadFolders)[]> {
  const found = await ifThere(gitFoldersAt(folder)).catch((): UnreadFolders => ({ top: folder, common: undefined }));
  const above = dirname(folder) === folder ? [] : await gitFoldersAround(dirname(folder));
  return found === undefined ? above : [found, ...above];
}

/** `own` is a folder that git keeps a repository in. */
export async function foldersOf(own: string): Promise<Omit<GitFolders, "top">> {
  const file = join(own, "commondir");
  const isShared = (await ifThere(lstat(file))) !== undefined;
  const named = isShared ? trimEndOf(await readText(file), "\r\n") : ".";
  return { own, common: await realpath(resolve(own, named)) };
}

async function readText(path: string): Promise<string> {
  // Looks first: opening a pipe would already be noticed.
  if (!(await lstat(path)).isFile()) throw new Error("it is not a file");
  return (await readRegular(path, MAX_BYTES)).toString("utf8");
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
