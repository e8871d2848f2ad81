/** The line a person is typing: a value, and what each key makes of it. It may have several lines. */

import { charactersOf } from "../terminal/text.ts";
import type { Key } from "./keys.ts";

export type Editor = {
  readonly text: string;
  /** The position in UTF-16 units, never inside a character. */
  readonly cursor: number;
  /** The text that was cut last, for yank. */
  readonly killed: string;
  /** Earlier lines, the newest last. */
  readonly history: readonly string[];
  /** The index of the line that is shown; `history.length` is the line that is being typed. */
  readonly historyIndex: number;
  /** The text that was typed before the history was opened. */
  readonly draft: string;
};

export function emptyEditor(history: readonly string[] = []): Editor {
  return { text: "", cursor: 0, killed: "", history, historyIndex: history.length, draft: "" };
}

/** Applies a key; undefined when the key means nothing to an editor. The caller decides about Enter and Tab. */
export function edit(editor: Editor, key: Key): Editor | undefined {
  if (key.type === "text" || key.type === "paste") return insert(editor, key.text);
  const { text, cursor } = editor;
  switch (key.name) {
    case "new-line":
      return insert(editor, "\n");
    case "left":
      return moveTo(editor, before(text, cursor));
    case "right":
      return moveTo(editor, after(text, cursor));
    case "home":
      return moveTo(editor, lineStart(text, cursor));
    case "end":
      return moveTo(editor, lineEnd(text, cursor));
    case "word-left":
      return moveTo(editor, wordStart(text, cursor));
    case "word-right":
      return moveTo(editor, wordEnd(text, cursor));
    case "up":
      return lineStart(text, cursor) > 0
        ? moveTo(editor, lineAbove(text, cursor))
        : recall(editor, editor.historyIndex - 1);
    case "down":
      return lineEnd(text, cursor) < text.length
        ? moveTo(editor, lineBelow(text, cursor))
        : recall(editor, editor.historyIndex + 1);
    case "backspace":
      return remove(editor, before(text, cursor), cursor);
    case "delete":
      return remove(editor, cursor, after(text, cursor));
    case "kill-word-left":
      return kill(editor, wordStart(text, cursor), cursor);
    case "kill-word-right":
      return kill(editor, cursor, wordEnd(text, cursor));
    case "kill-to-start":
      return kill(editor, lineStart(text, cursor), cursor);
    case "kill-to-end": {
      const end = lineEnd(text, cursor);
      // At the end of a line the break itself is what can be cut.
      return kill(editor, cursor, end === cursor ? Math.min(end + 1, text.length) : end);
    }
    case "yank":
      return insert(editor, editor.killed);
    default:
      return undefined;
  }
}

/** The line is done: it becomes history, and the editor is empty. A line that repeats the last one is not stored twice. */
export function submitted(editor: Editor): Editor {
  const { text, history, killed } = editor;
  const isStored = text.trim() !== "" && history.at(-1) !== text;
  return { ...emptyEditor(isStored ? [...history, text].slice(-MAX_HISTORY) : history), killed };
}

/** Replaces the text; the cursor is at its end. */
export function withText(editor: Editor, text: string, cursor = text.length): Editor {
  return { ...editor, text, cursor };
}

/** Cuts everything. */
export function cleared(editor: Editor): Editor {
  return { ...emptyEditor(editor.history), killed: editor.killed };
}

/** Max earlier lines that are stored. */
export const MAX_HISTORY = 1000;

export function insert(editor: Editor, given: string): Editor {
  const added = typed(given);
  const { text, cursor } = editor;
  return {
    ...editor,
    text: text.slice(0, cursor) + added + text.slice(cursor),
    cursor: cursor + added.length,
  };
}

/** Keeps what may be in a message: line breaks and tabs, and no other control character. */
function typed(given: string): string {
  return (
    given
      .toWellFormed()
      .replace(/\r\n?/g, "\n")
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")
  );
}

function moveTo(editor: Editor, cursor: number): Editor {
  return { ...editor, cursor };
}

function remove(editor: Editor, from: number, to: number): Editor {
  const { text } = editor;
  return { ...editor, text: text.slice(0, from) + text.slice(to), cursor: from };
}

function kill(editor: Editor, from: number, to: number): Editor {
  const killed = editor.text.slice(from, to);
  return killed === "" ? editor : { ...remove(editor, from, to), killed };
}

function recall(editor: Editor, historyIndex: number): Editor {
  const { history } = editor;
  if (historyIndex < 0 || historyIndex > history.length) return editor;
  const draft = editor.historyIndex === history.length ? editor.text : editor.draft;
  const text = historyIndex === history.length ? draft : (history[historyIndex] ?? "");
  return { ...editor, text, cursor: text.length, historyIndex, draft };
}

/** No character that people see is longer. */
const MAX_CHARACTER = 64;

function before(text: string, cursor: number): number {
  const characters = [...charactersOf(text.slice(Math.max(0, cursor - MAX_CHARACTER), cursor))];
  return cursor - (characters.at(-1)?.length ?? 0);
}

function after(text: string, cursor: number): number {
  const [first] = charactersOf(text.slice(cursor, cursor + MAX_CHARACTER));
  return cursor + (first?.length ?? 0);
}

function lineStart(text: string, cursor: number): number {
  return cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1;
}

function lineEnd(text: string, cursor: number): number {
  const at = text.indexOf("\n", cursor);
  return at < 0 ? text.length : at;
}

function lineAbove(text: string, cursor: number): number {
  const start = lineStart(text, cursor);
  const above = lineStart(text, start - 1);
  return onCharacter(text, Math.min(above + cursor - start, start - 1));
}

function lineBelow(text: string, cursor: number): number {
  const next = lineEnd(text, cursor) + 1;
  return onCharacter(text, Math.min(next + cursor - lineStart(text, cursor), lineEnd(text, next)));
}

/** Never between the halves of a character. */
function onCharacter(text: string, cursor: number): number {
  return cursor > 0 && cursor < text.length ? after(text, before(text, cursor)) : cursor;
}

function wordStart(text: string, cursor: number): number {
  const from = Math.max(0, cursor - MAX_WORD);
  return from + text.slice(from, cursor).replace(/[\p{L}\p{N}_]*[^\p{L}\p{N}_]*$/u, "").length;
}

/** Bounds the search for the start of a word in a long paste. */
const MAX_WORD = 1000;

function wordEnd(text: string, cursor: number): number {
  const [skipped = ""] = /^[^\p{L}\p{N}_]*[\p{L}\p{N}_]*/u.exec(text.slice(cursor)) ?? [];
  return cursor + skipped.length;
}
