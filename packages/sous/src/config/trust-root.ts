/** Where a project begins. Only looks: nothing of it is opened, and no program is asked. */

import { realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isThere } from "./trust-read.ts";

/**
 * The real path of the nearest folder with a `.sous` or `.git` entry, or that was trusted, else of the folder itself. What
 * is in the entry is not read: a forged one can only make a project smaller. `trusted` are real paths: a project whose
 * entries were deleted is still the one that was trusted.
 */
export async function projectRoot(cwd: string, trusted: readonly string[] = []): Promise<string> {
  const start = await realFolder(cwd);
  for (let folder = start; ; folder = dirname(folder)) {
    if (trusted.includes(folder)) return folder;
    if ((await isThere(join(folder, ".sous"))) || (await isThere(join(folder, ".git")))) return folder;
    if (dirname(folder) === folder) return start;
  }
}

export function realFolder(cwd: string): Promise<string> {
  return realpath(cwd).catch(() => resolve(cwd));
}
