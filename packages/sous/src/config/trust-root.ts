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
