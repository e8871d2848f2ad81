/** The editor as lines of a terminal: wrapped, bounded, and where the cursor stands in them. */

import { inert } from "../inert.ts";
import { charactersOf, displayWidth } from "../width.ts";
import type { Editor } from "./editor.ts";

export type EditorView = {
  /** Before the first line, such as `> `; the others are indented by as much. */
  prompt: string;
  /** At least 8. */
  columns: number;
  /** The most lines it may take; those around the cursor are shown. */
  maxLines: number;
};

export type Cursor = { row: number; column: number };
export type EditorLines = { lines: string[]; cursor: Cursor };

/** Of one line of a paste only so much around the cursor is looked at: the rest is not on the screen. */
const LINE_UNITS = 4000;

export function editorLines({ text, cursor }: Pick<Editor, "text" | "cursor">, view: EditorView): EditorLines {
  const indent = displayWidth(view.prompt);
  const room = Math.max(4, view.columns - indent);
  const window = around(text, cursor, view.maxLines);
  const rows: string[] = [];
  let place: Cursor = { row: 0, column: 0 };
  let offset = window.from;
  for (const line of window.text.split("\n")) {
    const laid = layLine(line, cursor - offset, room);
    if (laid.cursor !== undefined) place = { row: rows.length + laid.cursor.row, column: laid.cursor.column };
    rows.push(...laid.rows);
    offset += line.length + 1;
  }
  const first = Math.max(0, Math.min(place.row - view.maxLines + 1, rows.length - view.maxLines));
  const isAtStart = first === 0 && window.from === 0;
  const lines = rows
    .slice(first, first + view.maxLines)
    .map((row, index) => (index === 0 && isAtStart ? view.prompt : " ".repeat(indent)) + row);
  return { lines, cursor: { row: place.row - first, column: place.column + indent } };
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
  for (const character of charactersOf(line)) {
    const shown = inert(character).replaceAll("\n", "");
    const wide = displayWidth(shown);
    if (width + wide > room) {
      rows.push(row);
      row = "";
      width = 0;
    }
    if (cursor === undefined && at >= units && at < units + character.length)
      cursor = { row: rows.length, column: width };
    row += shown;
    width += wide;
    units += character.length;
  }
  // Behind the last column there is no place for the cursor.
  if (at === units && width >= room) {
    rows.push(row);
    row = "";
    width = 0;
  }
  if (at === units) cursor = { row: rows.length, column: width };
  return { rows: [...rows, row], cursor };
}
