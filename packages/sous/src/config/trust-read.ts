/** Reads files of a project without being led elsewhere: no link is followed out of it, no pipe is waited for. */

import { constants } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import { sep } from "node:path";

/** The whole file. Throws when it is a link, no file, or larger than it may be. */
export async function readRegular(path: string, maxBytes: number): Promise<Buffer> {
  // Without blocking: what was a file a moment ago may be a pipe now.
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const found = await file.stat();
  if (!found.isFile()) throw new Error("it is not a file");
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

/** Where a file or link leads; undefined when that is outside of the folder, or nowhere. */
export async function realInside(path: string, folder: string): Promise<string | undefined> {
  try {
    const [real, home] = await Promise.all([realpath(path), realpath(folder)]);
    return real.startsWith(home.endsWith(sep) ? home : `${home}${sep}`) ? real : undefined;
  } catch {
    return undefined;
  }
}

/** Looks, opens nothing. */
export async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
