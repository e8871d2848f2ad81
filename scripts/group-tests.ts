/** Puts test files together, so that one process loads the sources once for many of them. */

import { glob, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

export type Groups = {
  readonly name: string;
  readonly patterns: readonly string[];
  /** Without it every file is a group of its own. */
  readonly count?: number;
  /** Modules that every group loads before its tests. */
  readonly first?: readonly string[];
};

/**
 * Deals the files that match out to groups and writes each group into `folder`, as a file that imports its tests. Neighbours,
 * which are alike and take equally long, come into different groups.
 */
export async function groupTests(root: string, groups: Groups, folder: string): Promise<string[]> {
  const files = (await Array.fromAsync(glob([...groups.patterns], { cwd: root }))).sort();
  const { name, count = files.length, first = [] } = groups;
  await rm(join(folder, name), { recursive: true, force: true });
  await mkdir(join(folder, name), { recursive: true });
  const written = Array.from({ length: count }, async (_, number) => {
    const own = files.filter((_, index) => index % count === number);
    const urls = [...first, ...own.map((file) => pathToFileURL(join(root, file)).href)];
    // Two digits, because the runner compares names as text.
    const path = join(folder, name, `${String(number + 1).padStart(2, "0")}.test.mjs`);
    await writeFile(path, urls.map((url) => `import ${JSON.stringify(url)};\n`).join(""));
    return path;
  });
  return await Promise.all(written);
}
