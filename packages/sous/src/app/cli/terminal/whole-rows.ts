/** Rows of what a person must read whole, such as a question: nothing is dropped between them, so two texts are never shown alike. */

/** A further row of a line is indented by these. */
const FURTHER = "  ";
/** A row holds at least as many columns, also on a screen that has fewer. */
const MIN_ROOM = 10;

/**
 * Breaks a line into full rows of at most `columns`; further rows are indented more than the line. No row ends with a blank that
 * cannot be seen: one before a break begins the next row, and the last one of a line is written as its number.
 */
export function wholeRows(line: string, columns: number): string[] {
  const indent = /^ */.exec(line)?.[0] ?? "";
  const room = columns - indent.length - FURTHER.length;
  return brokenRows(withVisibleEnd(line.slice(indent.length)), room).map(
    (row, index) => (index === 0 ? indent : indent + FURTHER) + row,
  );
}

/** The parts of a line without any mark: together they are the line. */
export function brokenRows(line: string, columns: number): string[] {
  const room = Math.max(MIN_ROOM, columns);
  const rows: string[] = [];
  let row = "";
  let width = 0;
  for (const character of line) {
    const wide = widthOf(character);
    if (width + wide > room) {
      const kept = row.trimEnd() || row;
      rows.push(kept);
      row = row.slice(kept.length);
      width = row.length;
    }
    row += character;
    width += wide;
  }
  return [...rows, row];
}

/** Terminals differ about anything but ASCII: it may be two columns wide, and no row may be too long. */
function widthOf(character: string): number {
  return character >= " " && character <= "~" ? 1 : 2;
}

/** The blank behind a line break's mark and that of a gap's mark belong to the mark. */
function withVisibleEnd(line: string): string {
  return line.endsWith(" ") && line !== "| " && !/<\d{1,10} spaces> $/.test(line) ? `${line.slice(0, -1)}<U+0020>` : line;
}
