/** Where a project begins. Only looks: nothing of it is opened, and no program is asked. */

import { realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isThere } from "./trust-read.ts";

/**
 * The real path of the nearest folder with a `.sous` or `.git` entry, else of the folder itself. What is in the entry
 * is not read: a forged one can only make a project smaller.
 */
export async function projectRoot(cwd: string): Promise<string> {
  const start = await realpath(cwd).catch(() => resolve(cwd));
  for (let folder = start; ; folder = dirname(folder)) {
    if ((await isThere(join(folder, ".sous"))) || (await isThere(join(folder, ".git")))) return folder;
    if (dirname(folder) === folder) return start;
  }
}
