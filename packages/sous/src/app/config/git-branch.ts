/** The branch of a trusted project, from the files of git; git is not run. */

import { lstat, readlink, realpath } from "node:fs/promises";
import { join, resolve } from "node:path";
import { readRegular } from "../../machine/private-file.ts";

const MAX_BYTES = 4096;
const MAX_NAME = 100;

/** Undefined without a repository, without a branch, and for a name that is not plain: it becomes part of a prompt. */
export async function branchOf(root: string): Promise<string | undefined> {
  try {
    const folder = await gitFolder(root);
    const head = join(folder, "HEAD");
    const isLink = (await lstat(head)).isSymbolicLink();
    const text = isLink ? `ref: ${await readlink(head)}` : (await readRegular(head, MAX_BYTES)).toString("utf8");
    const [, name = ""] = /^ref: *refs\/heads\/([\w./@+#-]+)\s*$/.exec(text) ?? [];
    return name === "" || name.length > MAX_NAME ? undefined : name;
  } catch {
    return undefined;
  }
}

/** A worktree and a submodule have a file that says where the folder is. */
async function gitFolder(root: string): Promise<string> {
  const path = await realpath(join(root, ".git"));
  if ((await lstat(path)).isDirectory()) return path;
  const [, named = ""] = /^gitdir: *([^\r\n]+)/.exec((await readRegular(path, MAX_BYTES)).toString("utf8")) ?? [];
  return realpath(resolve(root, named));
}
