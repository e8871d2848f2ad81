/** What a terminal makes of lines when it becomes narrower than they are: it wraps them, and the cursor moves along. */

import { charactersOf, displayWidth } from "./width.ts";

/**
 * Whether the line of the cursor is wrapped like any other, and the cursor stays on its character. In `xterm.js` (the terminal
 * of VS Code) that line stays as it is, and every row that is added below the cursor moves it down as well.
 */
export type Reflow = "whole" | "xterm.js";

export function reflowOf({ TERM_PROGRAM }: Readonly<Record<string, string | undefined>>): Reflow {
  return TERM_PROGRAM === "vscode" ? "xterm.js" : "whole";
}

export type DrawnLines = {
  readonly lines: readonly string[];
  readonly cursor: { readonly row: number; readonly column: number };
};

/** How many rows lie between the first of the lines and the cursor by now. */
export function rowsAboveCursor({ lines, cursor }: DrawnLines, columns: number, reflow: Reflow): number {
  const above = wrappedRows(lines.slice(0, cursor.row), columns);
  if (reflow === "whole") return above + Math.floor(cursor.column / columns);
  const below = lines.slice(cursor.row + 1);
  const added = wrappedRows(below, columns) - below.length;
  const own = wrappedRows(lines.slice(cursor.row, cursor.row + 1), columns) - 1;
  return above + (added === 0 ? 0 : added + own);
}

/** How many rows the lines take. */
export function wrappedRows(lines: readonly string[], columns: number): number {
  let rows = 0;
  for (const line of lines) rows += rowsOf(withoutColour(line), columns);
  return rows;
}

function rowsOf(line: string, columns: number): number {
  const width = displayWidth(line);
  if (width <= columns) return 1;
  // Without wide characters every row is full.
  if (width === line.length) return Math.ceil(width / columns);
  let rows = 1;
  let column = 0;
  for (const character of charactersOf(line)) {
    const wide = displayWidth(character);
    // A wide one that does not fit leaves a gap.
    if (column + wide > columns) {
      rows += 1;
      column = 0;
    }
    column += wide;
  }
  return rows;
}

function withoutColour(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the codes that `paint` writes.
  return line.replace(/\u001b\[\d+m/g, "");
}
