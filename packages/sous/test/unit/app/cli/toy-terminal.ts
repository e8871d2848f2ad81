/** As much of a terminal as the renderer needs: lines that wrap, a cursor, and the sequences it may write. */

export class ToyTerminal {
  columns: number;
  rows: number;
  /** Everything that was written. */
  written = "";
  frames = 0;
  isCursorHidden = false;
  #cells: string[][] = [[]];
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  write(text: string): void {
    this.written += text;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal listens for.
    for (const [piece] of text.matchAll(/\u001b\[[?\d]*[A-Za-z]|\r|\n|[^\u001b\r\n]/gu)) this.#take(piece);
  }

  /** What is seen, without empty lines at the end. */
  screen(): string {
    return this.#cells
      .map((line) => line.join("").trimEnd())
      .join("\n")
      .trimEnd();
  }

  #take(piece: string): void {
    const [, count = "", command = ""] = /\[(\d+)([Am])$/.exec(piece) ?? [];
    if (piece === "\n") this.#goTo(this.#row + 1, 0);
    else if (piece === "\r") this.#column = 0;
    else if (command === "A") this.#goTo(Math.max(0, this.#row - Number(count)), this.#column);
    else if (piece === "\u001b[K") this.#cells[this.#row] = this.#cells[this.#row]?.slice(0, this.#column) ?? [];
    else if (piece === "\u001b[2K") this.#cells[this.#row] = [];
    else if (piece === "\u001b[J") this.#eraseBelow();
    else if (piece === "\u001b[?25l" || piece === "\u001b[?25h") this.isCursorHidden = piece.endsWith("l");
    else if (piece === "\u001b[?2026h") this.frames += 1;
    else if (piece === "\u001b[?2026l" || command === "m") return;
    else if (piece.startsWith("\u001b")) throw new Error(`The renderer wrote ${JSON.stringify(piece)}`);
    else this.#put(piece);
  }

  /** Like tmux, which would keep the erased screen in its scrollback. */
  #eraseBelow(): void {
    if (this.#row === 0 && this.#column === 0) throw new Error("The whole screen was erased");
    this.#cells = [...this.#cells.slice(0, this.#row), []];
  }

  #put(character: string): void {
    if (this.#column >= this.columns) this.#goTo(this.#row + 1, 0);
    const line = this.#cells[this.#row] ?? [];
    line[this.#column] = character;
    this.#cells[this.#row] = Array.from(line, (cell) => cell ?? " ");
    this.#column += 1;
  }

  #goTo(row: number, column: number): void {
    while (this.#cells.length <= row) this.#cells.push([]);
    this.#row = row;
    this.#column = column;
  }
}
