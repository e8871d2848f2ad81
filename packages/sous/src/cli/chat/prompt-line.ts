/** The line at the bottom: what is typed, whom it is for, and what was typed before it was for somebody else. */

import { inert, inertLine } from "../inert.ts";
import { type CompletionSources, complete } from "./complete.ts";
import { cleared, type Editor, edit, emptyEditor, insert, submitted, withText } from "./editor.ts";
import type { Key } from "./keys.ts";

/** Whom a line is for, when it is not the root: a child, or the reason of a no. */
export type Purpose = { kind: "steer"; path: string } | { kind: "reason" };

export type Entered = { text: string; purpose: Purpose | undefined };

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
    // Somebody may have typed on while files were looked for.
    if (found === undefined || this.#editor !== before) return;
    const completed = text.slice(0, found.from) + found.text;
    this.#editor = withText(before, completed + text.slice(cursor), completed.length);
    this.hint = found.choices.length === 0 ? undefined : found.choices.map((each) => inertLine(each, 60)).join("  ");
  }
}

const MOST_ECHOED = 12;

/** What was sent, as it stays above. A long paste is shown by its beginning: whoever sent it knows the rest. */
export function echoLines(text: string): string[] {
  const lines = inert(text.trimEnd()).split("\n");
  const more = lines.length > MOST_ECHOED ? [`(${lines.length - MOST_ECHOED} more lines)`] : [];
  return [...lines.slice(0, MOST_ECHOED), ...more].map((line, index) => `${index === 0 ? "> " : "  "}${line}`);
}
