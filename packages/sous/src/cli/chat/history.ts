/** The lines that were typed before, stored for the next chat: private and bounded. */

import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { ignore } from "../../core/errors.ts";
import { withoutSecrets } from "../files/without-secrets.ts";
import { writePrivate } from "../files/write-private.ts";
import { MAX_HISTORY } from "./editor.ts";

const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;
/** A longer line, such as a pasted file, is not worth keeping. */
const MAX_ENTRY = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;

export type History = {
  /** The newest last. */
  readonly entries: readonly string[];
  /** A line that cannot be written is not stored, without a message. */
  add(line: string): Promise<void>;
};

/** Without a file nothing is read and nothing is stored. */
export async function openHistory(file: string | undefined): Promise<History> {
  if (file === undefined) return { entries: [], add: async () => {} };
  const lines = await readLines(file);
  const entries = lines.slice(-MAX_HISTORY);
  // Twice the limit, so that a rewrite is rare.
  if (lines.length > MAX_HISTORY * 2) await writePrivate(file, entries.map(toLine).join(""), true).catch(ignore);
  return { entries, add: (line) => append(file, line).catch(ignore) };
}

async function readLines(file: string): Promise<string[]> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { size } = await handle.stat();
    if (size > MAX_BYTES) return [];
    return (await handle.readFile("utf8")).split("\n").flatMap(fromLine);
  } catch {
    return [];
  }
}

async function append(file: string, line: string): Promise<void> {
  if (line.length > MAX_ENTRY || line.trim() === "") return;
  await mkdir(dirname(file), { recursive: true, mode: PRIVATE_FOLDER });
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  await using handle = await open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, PRIVATE_FILE);
  await handle.appendFile(toLine(withoutSecrets(line)));
}

/** JSON, because an entry may have several lines. */
function toLine(entry: string): string {
  return `${JSON.stringify(entry)}\n`;
}

/** A damaged line is left out. */
function fromLine(line: string): string[] {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === "string" && entry.length <= MAX_ENTRY ? [entry] : [];
  } catch {
    return [];
  }
}
