/** Reads a file from an untrusted source. */

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import { messageOf } from "../../core/errors.ts";
import { CommandError } from "../exit-codes.ts";
import { inertLine } from "../terminal/inert.ts";

const MAX_BYTES = 512 * 1024 * 1024;

/** `-` is stdin. Throws a `CommandError` when it is no file, or larger than anything sous writes. */
export async function readForeign(path: string): Promise<string> {
  if (path === "-") return readAll(process.stdin);
  try {
    // Without waiting: a pipe may never get a writer.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile()) throw new Error("it is not a file");
    if (found.size > MAX_BYTES) throw new Error("it is too large");
    return await file.readFile("utf8");
  } catch (error) {
    throw new CommandError(
      `${inertLine(path)} cannot be read: ${isMissing(error) ? "it is not there" : messageOf(error)}`,
    );
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
