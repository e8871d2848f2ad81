/** Reads files from untrusted sources, and writes files that only their owner may read: what runs said is private. */

import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import { codeOf, messageOf } from "../../../core/errors.ts";
import { CommandError } from "../exit-codes.ts";
import { inertLine } from "../terminal/text.ts";
import { withoutSecrets } from "./without-secrets.ts";

const MAX_BYTES = 512 * 1024 * 1024;

/** `-` is stdin. Throws a `CommandError` when it is not a file, or larger than anything sous writes. */
export async function readForeign(path: string): Promise<string> {
  if (path === "-") return readAll(process.stdin);
  try {
    // Does not block: a pipe may never get a writer.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    if (!found.isFile()) throw new Error("it is not a file");
    if (found.size > MAX_BYTES) throw new Error("it is too large");
    return await file.readFile("utf8");
  } catch (error) {
    const why = codeOf(error) === "ENOENT" ? "it does not exist" : messageOf(error);
    throw new CommandError(`${inertLine(path)} cannot be read: ${why}`);
  }
}

const PRIVATE = 0o600;

/** Makes the folder, and the folders above it. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw new CommandError(`${inertLine(folder)} cannot be made: ${messageOf(error)}`);
  });
}

/** Writes the file completely or not at all. With `force` an existing file or link is replaced, never followed. */
export async function writePrivate(file: string, text: string, force: boolean): Promise<void> {
  try {
    if (!force) await write(file, text);
    else await replace(file, text);
  } catch (error) {
    const shown = inertLine(file);
    if (codeOf(error) === "EEXIST") throw new CommandError(`${shown} already exists; --force replaces it`);
    throw new CommandError(`${shown} cannot be written: ${messageOf(error)}`);
  }
}

async function write(file: string, text: string): Promise<void> {
  const handle = await open(file, "wx", PRIVATE);
  try {
    await handle.writeFile(withoutSecrets(text));
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

async function replace(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString("hex")}`;
  await write(draft, text);
  try {
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
