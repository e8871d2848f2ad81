/** Files that only the user may read, written whole or not at all by one process at a time; and files that others may have put there. */

import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, rename, rm } from "node:fs/promises";
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
  let seen: { readonly id: string | undefined; readonly since: number } = { id: undefined, since: Date.now() };
  for (;;) {
    const own = await tryLock(file);
    if (own !== undefined) return { [Symbol.asyncDispose]: () => removeLock(file, own) };
    const held = await stateOf(file);
    if (held?.id !== seen.id) seen = { id: held?.id, since: Date.now() };
    // The age of the lock counts, or our own wait: a clock may have been set back.
    const isStale = held !== undefined && Date.now() - Math.min(held.madeAt, seen.since) > STALE_MS;
    if (isStale) await breakLock(file, held.id);
    else await wait(20);
  }
}

/** The mark of our lock; undefined when another process has it. */
async function tryLock(file: string): Promise<string | undefined> {
  try {
    await using handle = await open(file, "wx", 0o600);
    return idOf(await handle.stat({ bigint: true }));
  } catch (error) {
    if (codeOf(error) === "EEXIST") return undefined;
    throw error;
  }
}

/** One process at a time: another one could remove the lock of the one that was faster. */
async function breakLock(file: string, stale: string): Promise<void> {
  const breaking = `${file}.stale`;
  const own = await tryLock(breaking);
  if (own !== undefined) {
    await removeLock(file, stale);
    await removeLock(breaking, own);
    return;
  }
  const held = await stateOf(breaking);
  if (held !== undefined && Date.now() - held.madeAt > STALE_MS) await removeLock(breaking, held.id);
  else await wait(20);
}

/** No other than this one. */
async function removeLock(file: string, id: string): Promise<void> {
  if ((await stateOf(file))?.id === id) await rm(file, { force: true });
}

async function stateOf(file: string): Promise<{ readonly id: string; readonly madeAt: number } | undefined> {
  const found = await lstat(file, { bigint: true }).catch(() => undefined);
  return found && { id: idOf(found), madeAt: Number(found.mtimeMs) };
}

function idOf({ ino, mtimeNs }: { readonly ino: bigint; readonly mtimeNs: bigint }): string {
  return `${ino}:${mtimeNs}`;
}

/** The whole file. Throws when it is a link, not a file, or larger than it may be. */
export async function readRegular(path: string, maxBytes: number): Promise<Buffer> {
  await using file = await openRegular(path);
  const found = await file.stat();
  const content = Buffer.alloc(Math.min(found.size, maxBytes) + 1);
  let length = 0;
  while (length < content.length) {
    const { bytesRead } = await file.read(content, length, content.length - length, length);
    if (bytesRead === 0) return content.subarray(0, length);
    length += bytesRead;
  }
  throw new Error(
    length > maxBytes ? `it is larger than ${Math.floor(maxBytes / 1024)} KB` : "it grows while it is read",
  );
}

/** The first bytes of a plain file, however large it is. */
export async function readBeginning(path: string, maxBytes: number): Promise<Buffer> {
  await using file = await openRegular(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
  return buffer.subarray(0, bytesRead);
}

async function openRegular(path: string): Promise<FileHandle> {
  // Without blocking: what was a file a moment ago may be a pipe now.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new Error("it is not a file");
}
