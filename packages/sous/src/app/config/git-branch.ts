/** The branch of a trusted project, from the files of git; git is not run. */

import { lstat, readlink } from "node:fs/promises";
import { join } from "node:path";
import { gitFoldersAt } from "../../machine/git-folder.ts";
import { readRegular } from "../../machine/private-file.ts";

const MAX_BYTES = 4096;
const MAX_NAME = 100;

/** Undefined without a repository, without a branch, and for a name that is not plain: it becomes part of a prompt. */
export async function branchOf(root: string): Promise<string | undefined> {
  try {
    const folders = await gitFoldersAt(root);
    if (folders === undefined) return undefined;
    const head = join(folders.own, "HEAD");
    const isLink = (await lstat(head)).isSymbolicLink();
    const text = isLink ? `ref: ${await readlink(head)}` : (await readRegular(head, MAX_BYTES)).toString("utf8");
    const [, name = ""] = /^ref: *refs\/heads\/([\w./@+#-]+)\s*$/.exec(text) ?? [];
    return name === "" || name.length > MAX_NAME ? undefined : name;
  } catch {
    return undefined;
  }
}
