/** Reads a typed line: a message with the files it names, a command or a shell line. */

import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { trimEndOf } from "../../../core/truncate.ts";
import { CommandError } from "../exit-codes.ts";
import { isInside } from "../files/paths.ts";
import { inertLine } from "../terminal/text.ts";

type TypedLine =
  | { kind: "nothing" }
  | { kind: "command"; name: string; parameter: string }
  | { kind: "shell"; command: string }
  | { kind: "agent"; name: string; task: string }
  | { kind: "message"; text: string; files: FileMention[] };

/** `mustBeThere` for `@./x`, which can be nothing else. */
type FileMention = { path: string; mustBeThere: boolean };

export function readTypedLine(line: string, agentNames: ReadonlySet<string>): TypedLine {
  const text = line.trim();
  if (text === "") return { kind: "nothing" };
  // `/etc/hosts is wrong` is a message: a command is a word of letters.
  const [, command, parameter = ""] = /^\/([a-z]+)(?:\s([\s\S]*))?$/.exec(text) ?? [];
  if (command !== undefined) return { kind: "command", name: command, parameter: parameter.trim() };
  if (text.startsWith("!")) return { kind: "shell", command: text.slice(1).trim() };
  const [, name = "", task = ""] = /^@([A-Za-z0-9][A-Za-z0-9_-]*)(?:\s([\s\S]*))?$/.exec(text) ?? [];
  if (agentNames.has(name)) return { kind: "agent", name, task: task.trim() };
  return { kind: "message", text, files: mentionedFiles(text, agentNames) };
}

/** `@path` and `@"a path"`, each once. */
function mentionedFiles(text: string, agentNames: ReadonlySet<string>): FileMention[] {
  const paths = new Set<string>();
  for (const [, quoted, bare] of text.matchAll(/(?<=^|\s)@(?:"([^"\n]+)"|([^\s"@]+))/g)) {
    const path = quoted ?? withoutPunctuation(bare ?? "");
    if (path !== "" && !agentNames.has(path)) paths.add(path);
  }
  return [...paths].map((path) => ({ path, mustBeThere: /^\.{1,2}\//.test(path) }));
}

function withoutPunctuation(word: string): string {
  const kept = trimEndOf(word, ",;:!?)]");
  return kept === word && word.endsWith(".") ? word.slice(0, -1) : kept;
}

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

/** Undefined when no such file exists: then it is a word with an @ before it. */
async function readMentioned(root: string, { path, mustBeThere }: FileMention): Promise<string | undefined> {
  const shown = inertLine(path, 200);
  let file: string;
  try {
    file = await realpath(resolve(root, path));
  } catch {
    if (!mustBeThere) return undefined;
    throw new CommandError(`No such file in this folder: ${shown}`);
  }
  if (!isInside(root, file))
    throw new CommandError(`${shown} is outside of this folder: only files below ${inertLine(root)} can be attached`);
  // Does not block: a pipe in the folder may never get a writer.
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

/** Makes a code block whose fence the text itself does not contain. */
export function fenced(title: string, text: string): string {
  let longest = 2;
  for (const [ticks] of text.matchAll(/^`+/gm)) longest = Math.max(longest, ticks.length);
  const fence = "`".repeat(longest + 1);
  return `${title}:\n${fence}\n${text.endsWith("\n") ? text : `${text}\n`}${fence}`;
}
