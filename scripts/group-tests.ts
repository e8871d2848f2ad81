/** Puts small test files together, so that a process loads the sources once for many of them. */

import { glob, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** A file that changes its process, or measures it, has one of its own. */
const NEEDS_OWN_PROCESS =
  /\b(?:importWithout|registerHooks|setFlagsFromString|memoryUsage|syncBuiltinESMExports)\b|\bprocess\.(?:chdir|on|once|exitCode|stdin|kill\(process\.pid)\b|\bprocess\.env\.\w+ =(?!=)|\bmock\.|\/proc\/self/;

/** Folders whose tests wait for processes or measure: one file each. */
const NOT_GROUPED = /\/test\/(?:figures|mutation)\/|\/test\/[^/]*$|^\/examples\//;

/** Tests that take long begin first, so that none of them is alone at the end. */
const LONG_FIRST = ["pack", "figures", "cli", "examples", "store", "attacks", "model", "requirements"];

const MAX_FILES = 18;

/**
 * The files to run, written into `folder`: each imports tests of one folder, many small ones or one that needs a process of
 * its own. The runner takes them in the order of their names.
 */
export async function groupTests(root: string, patterns: readonly string[], folder: string): Promise<string[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const groups: [name: string, files: string[]][] = [];
  const together = new Map<string, string[]>();
  for (const file of (await Array.fromAsync(glob([...patterns], { cwd: root }))).sort()) {
    const isOwn = NOT_GROUPED.test(`/${file}`) || NEEDS_OWN_PROCESS.test(await readFile(join(root, file), "utf8"));
    if (isOwn) groups.push([`${basename(dirname(file))}-${basename(file, ".test.ts")}`, [file]]);
    else together.set(dirname(file), [...(together.get(dirname(file)) ?? []), file]);
  }
  for (const [where, files] of together) {
    const count = Math.ceil(files.length / MAX_FILES);
    for (let number = 0; number < count; number++) {
      const own = files.filter((_, index) => index % count === number);
      groups.push([`${basename(where)}-${number + 1}`, own]);
    }
  }
  return Promise.all(
    groups.map(async ([name, files]) => {
      const path = join(folder, `${orderOf(files[0] ?? "")}-${name}.test.mjs`);
      const imports = files.map((file) => `import ${JSON.stringify(pathToFileURL(join(root, file)).href)};\n`);
      // Two groups of one name would be one, and tests would be missing.
      await writeFile(path, imports.join(""), { flag: "wx" });
      return path;
    }),
  );
}

/** Two digits, because they are compared as text. */
function orderOf(file: string): string {
  const order = LONG_FIRST.findIndex((name) => file.startsWith(`${name}/`) || file.includes(`/test/${name}`));
  return String(order === -1 ? LONG_FIRST.length : order).padStart(2, "0");
}
