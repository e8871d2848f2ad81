/** Files a person names with `@`: their text joins the message, bounded, and only from inside the working directory. */

import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import { CommandError } from "../exit-codes.ts";
import { inertLine } from "../inert.ts";
import type { FileMention } from "./typed-line.ts";

const MAX_BYTES = 64 * 1024;
const MAX_FILES = 16;

/** The message with the text of its files behind it. Throws a `CommandError` about the first that cannot be attached. */
export async function attachFiles(text: string, files: readonly FileMention[], cwd: string): Promise<string> {
  if (files.length > MAX_FILES)
    throw new CommandError(`A message takes at most ${MAX_FILES} files; found ${files.length}`);
  const root = await realpath(cwd);
  const parts = [text];
  for (const file of files) {
    const part = await readMentioned(root, file);
    if (part !== undefined) parts.push(part);
  }
  return parts.join("\n\n");
}

/** Undefined when it is only a word with an @ before it. */
async function readMentioned(root: string, { path, mustBeThere }: FileMention): Promise<string | undefined> {
  const shown = inertLine(path, 200);
  let file: string;
  try {
    file = await realpath(resolve(root, path));
  } catch {
    if (!mustBeThere) return undefined;
    throw new CommandError(`There is no file ${shown} in this folder`);
  }
  const isInside = file === root || file.startsWith(root.endsWith(sep) ? root : root + sep);
  if (!isInside)
    throw new CommandError(`${shown} is outside of this folder: only files below ${inertLine(root)} can be attached`);
  // Without waiting: a pipe in the folder would wait for ever for somebody who writes.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  const about = await handle.stat();
  if (!about.isFile()) throw new CommandError(`${shown} is not a file: name the file you mean`);
  const buffer = Buffer.alloc(Math.min(about.size, MAX_BYTES));
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
  const bytes = buffer.subarray(0, bytesRead);
  if (bytes.includes(0)) throw new CommandError(`${shown} is not text, so it cannot be attached`);
  const cut = about.size > bytesRead ? `\n[cut: the first ${bytesRead} of ${about.size} bytes]` : "";
  return fenced(relative(root, file) || path, bytes.toString("utf8").toWellFormed() + cut);
}

/** As a code block whose fence the text itself does not contain. */
export function fenced(title: string, text: string): string {
  let longest = 2;
  for (const [ticks] of text.matchAll(/^`+/gm)) longest = Math.max(longest, ticks.length);
  const fence = "`".repeat(longest + 1);
  return `${title}:\n${fence}\n${text.endsWith("\n") ? text : `${text}\n`}${fence}`;
}
