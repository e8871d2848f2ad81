/** Reads a file that may have been put there by others. */

import { constants } from "node:fs";
import { open } from "node:fs/promises";

/** The whole file. Throws when it is a link, not a file, or larger than it may be. */
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
