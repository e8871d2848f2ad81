/** The line that is being typed: the editor, and its history, which is stored for the next chat: private and bounded. */

import { constants } from "node:fs";
import { mkdir, open, readdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ignore } from "../../../core/errors.ts";
import { writePrivate } from "../files/file-access.ts";
import { isInside } from "../files/paths.ts";
import { withoutSecrets } from "../files/without-secrets.ts";
import { commonStart, inert, inertLine } from "../terminal/text.ts";
import { cleared, type Editor, edit, emptyEditor, insert, MAX_HISTORY, submitted, withText } from "./editor.ts";
import type { Key } from "./keys.ts";

/** The purpose of a line that is not for the root: a message to a child, or the reason of a no. */
type Purpose = { kind: "steer"; path: string } | { kind: "reason" };

export class PromptLine {
  /** One line below: choices of Tab, what a key would do. */
  hint: string | undefined;
  #editor: Editor;
  #purpose: Purpose | undefined;
  #draft: Editor | undefined;

  constructor(history: readonly string[]) {
    this.#editor = emptyEditor(history);
  }

  get editor(): Editor {
    return this.#editor;
  }

  get purpose(): Purpose | undefined {
    return this.#purpose;
  }

  /** True when a key that is typed now can mean something else than text. */
  get isFree(): boolean {
    return this.#editor.text === "" && this.#purpose === undefined;
  }

  /** True when the key changed the line, or would have if there were something to change. */
  type(key: Key): boolean {
    const isDelete = key.type === "key" && key.name === "end-of-input" && this.#editor.text !== "";
    const editor = edit(this.#editor, isDelete ? { type: "key", name: "delete" } : key);
    if (editor !== undefined) this.#editor = editor;
    return editor !== undefined;
  }

  /** Takes the typed text and empties the line; undefined when a backslash at its end asks for another line. */
  enter(): { text: string; purpose: Purpose | undefined } | undefined {
    const { text, cursor } = this.#editor;
    if (text.endsWith("\\") && cursor === text.length) {
      this.#editor = insert(withText(this.#editor, text.slice(0, -1)), "\n");
      return undefined;
    }
    const purpose = this.#purpose;
    if (purpose === undefined) this.#editor = submitted(this.#editor);
    else this.putBack();
    return { text, purpose };
  }

  /** Replaces the line as if this had been typed. */
  write(text: string): void {
    this.#editor = withText(this.#editor, text);
  }

  clear(): void {
    this.#editor = cleared(this.#editor);
  }

  /** The line is for something else now; what was typed comes back afterwards. */
  take(purpose: Purpose): void {
    this.#draft = this.#editor;
    this.#editor = emptyEditor();
    this.#purpose = purpose;
  }

  putBack(): void {
    if (this.#purpose === undefined) return;
    this.#editor = this.#draft ?? cleared(this.#editor);
    this.#draft = undefined;
    this.#purpose = undefined;
  }

  async complete(sources: CompletionSources): Promise<void> {
    const before = this.#editor;
    const { text, cursor } = before;
    const found = await complete(text, cursor, sources);
    // More may have been typed while files were looked for.
    if (found === undefined || this.#editor !== before) return;
    const completed = text.slice(0, found.from) + found.text;
    this.#editor = withText(before, completed + text.slice(cursor), completed.length);
    this.hint = found.choices.length === 0 ? undefined : found.choices.map((each) => inertLine(each, 60)).join("  ");
  }
}

const MAX_ECHOED = 12;

/** The sent text as it stays above. Only the beginning of a long paste is shown. */
export function echoLines(text: string): string[] {
  const lines = inert(text.trimEnd()).split("\n");
  const more = lines.length > MAX_ECHOED ? [`(${lines.length - MAX_ECHOED} more lines)`] : [];
  return [...lines.slice(0, MAX_ECHOED), ...more].map((line, index) => `${index === 0 ? "> " : "  "}${line}`);
}

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

export type Completion = {
  /** The index at which the replaced word begins. */
  from: number;
  /** The text that all candidates have in common; the word itself when that is nothing more. */
  text: string;
  /** The candidates to choose from; empty when there is at most one. */
  choices: string[];
};

export type CompletionSources = {
  commands: readonly string[];
  agents: readonly string[];
  cwd: string;
  /** Arguments of `/resume`: numbers, `last`, ids. */
  resumable(): Promise<readonly string[]>;
};

const MAX_CHOICES = 40;

/** `10`, `last`. */
const SHORT_NAME = 4;

/** Undefined when there is nothing to complete at the cursor. */
export async function complete(
  text: string,
  cursor: number,
  sources: CompletionSources,
): Promise<Completion | undefined> {
  const head = text.slice(0, cursor);
  if (/^\/[a-z]*$/.test(head))
    return choose(
      0,
      head,
      sources.commands.map((name) => `/${name}`),
    );
  const [, typed] = /^\/resume +(\S*)$/.exec(head) ?? [];
  if (typed !== undefined) {
    // Ids are long and begin alike: they are offered to a person who has begun one.
    const names = (await sources.resumable()).filter((name) => typed !== "" || name.length <= SHORT_NAME);
    return choose(head.length - typed.length, typed, names);
  }
  const word = lastMention(head);
  if (word === undefined) return undefined;
  const from = head.length - word.length;
  const isPath = /^@(?:\.{1,2}\/|.*\/)/.test(word);
  const agents = isPath || head.slice(0, from).trim() !== "" ? [] : sources.agents.map((name) => `@${name}`);
  return choose(from, word, [...agents, ...(await filesFor(word.slice(1), sources.cwd))]);
}

/** `@` at the start of a word, and what follows it up to the end; undefined when the last word does not begin with one. */
function lastMention(head: string): string | undefined {
  let start = head.length;
  while (start > 0 && !/[\s"]/.test(head.charAt(start - 1))) start -= 1;
  // Text behind a quotation mark is part of a quoted name.
  const isWord = start === 0 || head.charAt(start - 1) !== '"';
  return isWord && head[start] === "@" ? head.slice(start) : undefined;
}

function choose(from: number, word: string, names: readonly string[]): Completion | undefined {
  const fitting = [...new Set(names)].filter((name) => name.startsWith(word)).sort();
  const [first, another] = fitting;
  if (first === undefined) return undefined;
  if (another === undefined) return { from, text: first.endsWith("/") ? first : `${first} `, choices: [] };
  const common = fitting.reduce((one, each) => one.slice(0, commonStart(one, each)));
  return { from, text: common, choices: fitting.slice(0, MAX_CHOICES) };
}

/** Names below the working directory that begin like this; what needs quotes is left out. */
async function filesFor(typed: string, cwd: string): Promise<string[]> {
  const folder = typed.endsWith("/")
    ? typed
    : dirname(typed) === "." && !typed.startsWith("./")
      ? ""
      : `${dirname(typed)}/`;
  const path = resolve(cwd, folder);
  if (!isInside(resolve(cwd), path)) return [];
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  const wantsHidden = typed.slice(folder.length).startsWith(".");
  return entries
    .filter(({ name }) => (wantsHidden || !name.startsWith(".")) && !/[\s"\p{C}]/u.test(name))
    .map((entry) => `@${join(folder, entry.name)}${entry.isDirectory() ? "/" : ""}`)
    .map((name) => (folder.startsWith("./") ? name.replace("@", "@./") : name));
}
