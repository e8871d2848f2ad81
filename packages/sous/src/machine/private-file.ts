/** Files of the user's state folder that only the user may read: written whole or not at all, by one process at a time. */

import { randomBytes } from "node:crypto";
import { chmod, lstat, mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { codeOf, UserError } from "../core/errors.ts";

/** No process holds a lock for longer. */
const STALE_MS = 10_000;

/** Undefined when it may be read, or is not there; else what is wrong with it, to be put behind its name. */
export async function whyNotOurs(file: string): Promise<string | undefined> {
  const found = await lstat(file).catch(() => undefined);
  if (found === undefined) return undefined;
  if (!found.isFile()) return "is not a file of sous";
  const isForeign = process.getuid !== undefined && found.uid !== process.getuid();
  return isForeign || (found.mode & 0o022) !== 0 ? "can be written by others, so it is not believed" : undefined;
}

/** Runs `change` while no other process does so for the same file; makes the folder first. `change` replaces the file with `replaceFile`. */
export async function changeLocked(file: string, change: () => Promise<void>): Promise<void> {
  await makePrivateFolder(dirname(file));
  await using _lock = await lock(`${file}.lock`);
  await change();
}

export async function replaceFile(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    await using handle = await open(draft, "wx", 0o600);
    await handle.writeFile(text);
    await handle.sync();
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await rename(draft, file);
}

/** Folder by folder: Node's own way of making them all never ends where nothing can be made, as below `/proc`. */
async function makePrivateFolder(folder: string): Promise<void> {
  const found = await lstat(folder).catch(() => undefined);
  if (found?.isDirectory() === true) return chmod(folder, 0o700);
  if (found !== undefined) throw new UserError(`${folder} is not a folder: remove it, or set XDG_STATE_HOME`);
  await makeFolders(folder);
}

async function makeFolders(folder: string): Promise<void> {
  if (dirname(folder) === folder || (await lstat(folder).catch(() => undefined)) !== undefined) return;
  await makeFolders(dirname(folder));
  await mkdir(folder, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

async function lock(file: string): Promise<AsyncDisposable> {
  for (const deadline = Date.now() + STALE_MS; ; await wait(20)) {
    try {
      await (await open(file, "wx", 0o600)).close();
      return { [Symbol.asyncDispose]: () => rm(file, { force: true }) };
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      const heldSince = await stat(file).then(
        ({ mtimeMs }) => mtimeMs,
        () => Date.now(),
      );
      if (Date.now() - heldSince > STALE_MS || Date.now() > deadline) await rm(file, { force: true });
    }
  }
}
