/** The line that is being typed: the editor, its history, and what Tab completes. */

import { readdir } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { inert, inertLine } from "../terminal/inert.ts";
import { cleared, type Editor, edit, emptyEditor, insert, submitted, withText } from "./editor.ts";
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

export type Completion = {
  /** Where the word begins that is replaced. */
  from: number;
  /** As much as all candidates have in common; the word itself when that is nothing more. */
  text: string;
  /** To choose from; empty when there is at most one. */
  choices: string[];
};

type CompletionSources = {
  commands: readonly string[];
  agents: readonly string[];
  cwd: string;
  /** What `/resume` takes: numbers, `last`, ids. */
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

/** `@` at the start of a word, and what follows it up to the end; undefined when the last word is no such thing. */
function lastMention(head: string): string | undefined {
  let start = head.length;
  while (start > 0 && !/[\s"]/.test(head.charAt(start - 1))) start -= 1;
  // What stands behind a quotation mark is part of a quoted name.
  const isWord = start === 0 || head.charAt(start - 1) !== '"';
  return isWord && head[start] === "@" ? head.slice(start) : undefined;
}

function choose(from: number, word: string, names: readonly string[]): Completion | undefined {
  const fitting = [...new Set(names)].filter((name) => name.startsWith(word)).sort();
  const [first, another] = fitting;
  if (first === undefined) return undefined;
  if (another === undefined) return { from, text: first.endsWith("/") ? first : `${first} `, choices: [] };
  return { from, text: fitting.reduce(common), choices: fitting.slice(0, MAX_CHOICES) };
}

function common(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return one.slice(0, length);
}

/** Names below the working directory that begin like this; what needs quotes is left out. */
async function filesFor(typed: string, cwd: string): Promise<string[]> {
  const folder = typed.endsWith("/")
    ? typed
    : dirname(typed) === "." && !typed.startsWith("./")
      ? ""
      : `${dirname(typed)}/`;
  const place = resolve(cwd, folder);
  const isInside = place === resolve(cwd) || place.startsWith(resolve(cwd) + sep);
  if (!isInside) return [];
  const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
  const wantsHidden = typed.slice(folder.length).startsWith(".");
  return entries
    .filter(({ name }) => (wantsHidden || !name.startsWith(".")) && !/[\s"\p{C}]/u.test(name))
    .map((entry) => `@${join(folder, entry.name)}${entry.isDirectory() ? "/" : ""}`)
    .map((name) => (folder.startsWith("./") ? name.replace("@", "@./") : name));
}
