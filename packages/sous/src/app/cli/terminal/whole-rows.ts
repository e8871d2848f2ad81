/** Rows of what a person must read whole, such as a question: nothing is dropped between them, so two texts are never shown alike. */

/** A further row of a line is indented by these. */
const FURTHER = "  ";
/** A row holds at least as many columns, also on a screen that has fewer. */
const MIN_ROOM = 10;

/**
 * Breaks a text without line breaks into full rows of at most `columns`, each behind the indent; further rows are indented more. No
 * row ends with a blank that cannot be seen: one before a break begins the next row, and the last one is written as its number.
 * `atWords` is for sentences.
 */
export function wholeRows(text: string, columns: number, { indent = "", atWords = false } = {}): string[] {
  return brokenRows(withVisibleEnd(text), columns - indent.length - FURTHER.length, atWords).map(
    (row, index) => indent + (index === 0 ? "" : FURTHER) + row,
  );
}

/** The rows without an indent: together they are the line. */
export function brokenRows(line: string, columns: number, atWords = false): string[] {
  const room = Math.max(MIN_ROOM, columns);
  const rows: string[] = [];
  let row = "";
  let width = 0;
  for (const character of line) {
    const wide = widthOf(character);
    while (width + wide > room && row !== "") {
      const word = atWords && character !== " " ? row.lastIndexOf(" ") : 0;
      const kept = (word > 0 ? row.slice(0, word) : row).trimEnd() || row;
      rows.push(kept);
      row = row.slice(kept.length);
      width = [...row].reduce((sum, each) => sum + widthOf(each), 0);
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
  return line.endsWith(" ") && line !== "| " && !/<\d{1,10} spaces> $/.test(line)
    ? `${line.slice(0, -1)}<U+0020>`
    : line;
}
