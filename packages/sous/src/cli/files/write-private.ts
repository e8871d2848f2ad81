/** Files that only their owner may read: what runs said is private. */

import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { messageOf } from "../../core/errors.ts";
import { CommandError } from "../exit-codes.ts";
import { inertLine } from "../terminal/inert.ts";
import { withoutSecrets } from "./without-secrets.ts";

const PRIVATE = 0o600;

/** Whole or not at all. A file or a link that is there already is left alone, or with `force` replaced, never followed. */
export async function writePrivate(file: string, text: string, force: boolean): Promise<void> {
  try {
    if (!force) await write(file, text);
    else await replace(file, text);
  } catch (error) {
    const isThere = error instanceof Error && "code" in error && error.code === "EEXIST";
    const shown = inertLine(file);
    if (isThere) throw new CommandError(`${shown} is there already; --force replaces it`);
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
