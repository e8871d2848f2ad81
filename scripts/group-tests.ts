/** Puts small test files together, so that a process loads the sources once for many of them. */

import { glob, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** A file that changes its process, or measures it, has one of its own. */
const NEEDS_OWN_PROCESS =
  /\b(?:importWithout|registerHooks|setFlagsFromString|memoryUsage|syncBuiltinESMExports)\b|\bprocess\.(?:chdir|on|once|kill|exitCode|stdin)\b|\bprocess\.env\.\w+ =|\bmock\.|\/proc\/self/;

/** Folders whose tests wait for processes or measure: one file each. */
const NOT_GROUPED = /\/test\/(?:figures|mutation|docs)\/|\/test\/[^/]*$|^\/examples\//;

const MAX_FILES = 12;

/** The files to run: groups, written into `folder`, and the rest as they are. The files of a group are of one folder. */
export async function groupTests(root: string, patterns: readonly string[], folder: string): Promise<string[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const alone: string[] = [];
  const together = new Map<string, string[]>();
  for (const file of (await Array.fromAsync(glob([...patterns], { cwd: root }))).sort()) {
    const isOwn = NOT_GROUPED.test(`/${file}`) || NEEDS_OWN_PROCESS.test(await readFile(join(root, file), "utf8"));
    if (isOwn) alone.push(file);
    else together.set(dirname(file), [...(together.get(dirname(file)) ?? []), file]);
  }
  for (const [where, files] of together) {
    const count = Math.ceil(files.length / MAX_FILES);
    for (let number = 0; number < count; number++) {
      const own = files.filter((_, index) => index % count === number);
      const path = join(folder, `${basename(where)}-${number + 1}.test.mjs`);
      await writeFile(
        path,
        own.map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)).href)};\n`).join(""),
      );
      alone.push(path);
    }
  }
  return alone;
}
