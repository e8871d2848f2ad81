/** The line that is being typed: the editor, and its history, which is stored for the next chat: private and bounded. */

import { constants } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { ignore } from "../../core/errors.ts";
import { writePrivate } from "../files/file-access.ts";
import { withoutSecrets } from "../files/without-secrets.ts";
import { inert, inertLine } from "../terminal/text.ts";
import { type CompletionSources, complete } from "./completion.ts";
import { cleared, type Editor, edit, emptyEditor, insert, MAX_HISTORY, submitted, withText } from "./editor.ts";
import type { Key } from "./keys.ts";

/** Whom a line is for, when it is not the root: a child, or the reason of a no. */
type Purpose = { kind: "steer"; path: string } | { kind: "reason" };

type Entered = { text: string; purpose: Purpose | undefined };

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

  /** What was typed, and the line is empty; undefined when a backslash at its end asks for another line. */
  enter(): Entered | undefined {
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

  /** As if this had been typed. */
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

/** What was sent, as it stays above. Of a long paste the beginning is shown. */
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
