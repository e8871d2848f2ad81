/** The live region of a chat, from what it is about to lines: pure, and never higher than it may be. */

import type { Cursor, Frame, ScreenSize } from "../terminal/live-screen.ts";
import type { Style } from "../terminal/style.ts";
import { charactersOf, cutToWidth, displayWidth, inert } from "../terminal/text.ts";
import type { LiveView } from "../view/live-lines.ts";
import type { Editor } from "./editor.ts";
import { type QuestionPage, type QuestionScene, questionPage } from "./question-view.ts";
import type { Transcript } from "./transcript.ts";

export type ChatScene = {
  transcript: Transcript;
  editor: Editor;
  /** The purpose of the line, when it is not for the root: `why not`, `sous/scout`. */
  purpose: string | undefined;
  question: QuestionScene | undefined;
  /** The path of the child that was chosen. */
  selected: string | undefined;
  /** One line below everything: choices of Tab, what a key would do. */
  hint: string | undefined;
  now: number;
};

const MAX_WORK_LINES = 24;
const SPINNER_MS = 160;

/** A frame, and what of the question it shows. */
type ChatFrame = Required<Frame> & { question: QuestionPage | undefined };

export function chatFrame(scene: ChatScene, size: ScreenSize, style: Style): ChatFrame {
  // One column stays free: a terminal wraps a line that fills it.
  const columns = size.columns - 1;
  const third = Math.max(1, Math.floor((size.rows - 1) / 3));
  const typed = editorLines(scene.editor, {
    prompt: scene.purpose === undefined ? "> " : `${cutToWidth(scene.purpose, columns >> 1, style.glyphs.more)}> `,
    columns,
    maxLines: Math.max(1, Math.min(8, third)),
  });
  const below = hintLines(scene, columns, style);
  const left = size.rows - 2 - typed.lines.length - below.length;
  // Nothing is as urgent as a question: it may take all there is.
  const page = scene.question && questionPage(scene.question, columns, Math.max(3, left), style);
  const asked = page?.lines ?? [];
  // A higher frame loses its upper lines on the screen, and on a screen that is narrower rows lie elsewhere than is known here.
  const isTooSmall = page?.isTooSmall === true || asked.length > left || size.isLess === true;
  const question = page && { ...page, isTooSmall, isEndShown: page.isEndShown && !isTooSmall };
  const rest = left - asked.length;
  const pending = scene.transcript.pending(columns, Math.max(0, Math.min(6, rest - 1)));
  const view: LiveView = {
    now: scene.now,
    columns,
    maxLines: Math.max(1, Math.min(MAX_WORK_LINES, rest - pending.length)),
    frame: Math.floor(scene.now / SPINNER_MS),
    style,
    selected: scene.selected,
  };
  const work = rest - pending.length > 0 ? scene.transcript.workLines(view) : [];
  const above = [...pending, ...work, ...asked];
  const { row, column } = typed.cursor;
  return { lines: [...above, ...typed.lines, ...below], cursor: { row: above.length + row, column }, question };
}

function hintLines({ hint, selected }: ChatScene, columns: number, { paint, glyphs }: Style): string[] {
  const keys = ["s steer", "w wrap up", "x stop", "Esc back"].join(glyphs.dot);
  const text = hint ?? (selected === undefined ? undefined : `${selected}: ${keys}`);
  return text === undefined ? [] : [paint("dim", cutToWidth(text, columns, glyphs.more))];
}

type EditorView = {
  /** The text before the first line, such as `> `; the others are indented by as much. */
  prompt: string;
  /** The width of the line, at least 8. */
  columns: number;
  /** The most lines it may take; those around the cursor are shown. */
  maxLines: number;
};

/** Characters around the cursor that are looked at in one line of a paste: the rest is not on the screen. */
const LINE_UNITS = 4000;

export function editorLines({ text, cursor }: Pick<Editor, "text" | "cursor">, view: EditorView): Required<Frame> {
  const indent = displayWidth(view.prompt);
  const room = Math.max(4, view.columns - indent);
  const window = around(text, cursor, view.maxLines);
  const rows: string[] = [];
  let shownCursor: Cursor = { row: 0, column: 0 };
  let offset = window.from;
  for (const line of window.text.split("\n")) {
    const laid = layLine(line, cursor - offset, room);
    if (laid.cursor !== undefined) shownCursor = { row: rows.length + laid.cursor.row, column: laid.cursor.column };
    rows.push(...laid.rows);
    offset += line.length + 1;
  }
  const first = Math.max(0, Math.min(shownCursor.row - view.maxLines + 1, rows.length - view.maxLines));
  const isAtStart = first === 0 && window.from === 0;
  const lines = rows
    .slice(first, first + view.maxLines)
    .map((row, index) => (index === 0 && isAtStart ? view.prompt : " ".repeat(indent)) + row);
  return { lines, cursor: { row: shownCursor.row - first, column: shownCursor.column + indent } };
}

/** The lines around the cursor: the rest cannot be on the screen. */
function around(text: string, cursor: number, maxLines: number): { text: string; from: number } {
  let from = cursor;
  for (let count = 0; count < maxLines && from > 0; count++) from = text.lastIndexOf("\n", from - 1);
  from = Math.max(from < 0 ? 0 : from, cursor - LINE_UNITS);
  if (from > 0 && text[from] === "\n") from += 1;
  let to = cursor;
  for (let count = 0; count < maxLines && to >= 0; count++) to = text.indexOf("\n", to + (count === 0 ? 0 : 1));
  to = Math.min(to < 0 ? text.length : to, cursor + LINE_UNITS);
  return { text: text.slice(from, Math.max(to, cursor)), from };
}

/** `at` is where the cursor is in this line, if it is in it. */
function layLine(line: string, at: number, room: number): { rows: string[]; cursor: Cursor | undefined } {
  const rows: string[] = [];
  let row = "";
  let width = 0;
  let units = 0;
  let cursor: Cursor | undefined;
  const beginRow = (): void => {
    rows.push(row);
    row = "";
    width = 0;
  };
  for (const character of charactersOf(line)) {
    const shown = inert(character).replaceAll("\n", "");
    const wide = displayWidth(shown);
    if (width + wide > room) beginRow();
    if (cursor === undefined && at >= units && at < units + character.length)
      cursor = { row: rows.length, column: width };
    row += shown;
    width += wide;
    units += character.length;
  }
  // The cursor cannot stand behind the last column.
  if (at === units && width >= room) beginRow();
  if (at === units) cursor = { row: rows.length, column: width };
  return { rows: [...rows, row], cursor };
}
