/** Where a project begins. Only looks: nothing of it is opened, and no program is asked. */

import { realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isThere } from "./trust-read.ts";

/**
 * The real path of the nearest folder with a `.sous` or `.git` entry, else of the folder itself. What is in the entry
 * is not read: a forged one can only make a project smaller.
 */
export async function projectRoot(cwd: string): Promise<string> {
  const start = await realOf(cwd);
  for await (const root of rootsFrom(start)) return root;
  return start;
}

/**
 * All of them, from the nearest outwards; empty when there is none. For what a smaller project must not gain: a folder
 * inside a repository may hold a `.sous` or `.git` of its own.
 */
export async function projectRoots(cwd: string): Promise<string[]> {
  return Array.fromAsync(rootsFrom(await realOf(cwd)));
}

async function* rootsFrom(start: string): AsyncGenerator<string> {
  for (let folder = start; ; folder = dirname(folder)) {
    if ((await isThere(join(folder, ".sous"))) || (await isThere(join(folder, ".git")))) yield folder;
    if (dirname(folder) === folder) return;
  }
}

function realOf(folder: string): Promise<string> {
  return realpath(folder).catch(() => resolve(folder));
}
