/** Writes to the terminal: finished lines once, and below them a region that is drawn over, frame by frame. */

import type { Clock } from "../../../core/clock.ts";
import type { Variables } from "../../../core/process.ts";
import { charactersOf, displayWidth, withoutColour } from "./text.ts";

/** The stream that is drawn on; a terminal's stream fits. */
export type Screen = { write(text: string): unknown; columns?: number | undefined; rows?: number | undefined };

export type Cursor = { row: number; column: number };

/** The region below what is finished; `cursor` is where the person types, hidden below the region without one. */
export type Frame = { lines: readonly string[]; cursor?: Cursor };

/** A frame as it is drawn, with the position of the cursor. */
type DrawnFrame = Required<Frame> & { readonly isCursorHidden: boolean };

const NOTHING: DrawnFrame = { lines: [], cursor: { row: 0, column: 0 }, isCursorHidden: false };

export type ScreenSize = {
  columns: number;
  rows: number;
  /** The terminal has less than this, and shows no frame whole. */
  isLess?: boolean;
};

/** 13 frames a second at most. */
const FRAME_MS = 75;
const MIN_COLUMNS = 20;
const MIN_ROWS = 4;
const NO_SIZE: ScreenSize = { columns: 0, rows: 0 };

const HIDE_CURSOR = "\u001b[?25l";
const SHOW_CURSOR = "\u001b[?25h";
// The terminal shows what lies between these at once, so that no half-drawn frame is seen.
const BEGIN_FRAME = "\u001b[?2026h";
const END_FRAME = "\u001b[?2026l";
const ERASE_LINE = "\u001b[2K";
const ERASE_REST_OF_LINE = "\u001b[K";
const ERASE_BELOW = "\u001b[J";

type LiveScreenOptions = {
  screen: Screen;
  clock: Pick<Clock, "monotonic" | "timer">;
  /** Called once a frame, and only when something may have changed. */
  draw(size: ScreenSize): Frame;
  /** True while time itself changes what is shown. */
  isMoving(): boolean;
  /** The terminal's way with drawn lines when it becomes narrower; by the environment when unset. */
  reflow?: Reflow | undefined;
};

/** Disposing it takes the region away and leaves the cursor where the next line begins. */
export class LiveScreen implements Disposable {
  readonly #options: LiveScreenOptions;
  /** Finished lines that wait for the next frame. */
  #finished: string[] = [];
  #drawn = NOTHING;
  #isDirty = false;
  #timer: Disposable | undefined;
  #lastFrame = Number.NEGATIVE_INFINITY;
  /** The size of the terminal at that time. */
  #drawnSize: ScreenSize = NO_SIZE;
  #isOver = false;

  constructor(options: LiveScreenOptions) {
    this.#options = options;
  }

  get size(): ScreenSize {
    const { screen } = this.#options;
    const columns = screen.columns || 80;
    const rows = screen.rows || 24;
    return {
      columns: Math.max(MIN_COLUMNS, columns),
      rows: Math.max(MIN_ROWS, rows),
      isLess: columns < MIN_COLUMNS || rows < MIN_ROWS,
    };
  }

  /** Lines that are done and scroll away as they are. */
  print(lines: readonly string[]): void {
    if (lines.length === 0) return;
    // One by one: an answer can have more lines than a call takes arguments.
    for (const line of lines) this.#finished.push(line);
    this.refresh();
  }

  /** Something has changed: it is drawn with the next frame. */
  refresh(): void {
    this.#isDirty = true;
    this.#schedule();
  }

  /** Something else has written over it: the next frame is drawn even if it is the same. */
  redraw(): void {
    this.#drawnSize = NO_SIZE;
    this.refresh();
  }

  /** Takes the region away until something is to be drawn again. */
  clear(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#write(NOTHING);
  }

  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.clear();
    this.#isOver = true;
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#isOver) return;
    const { clock } = this.#options;
    const due = this.#lastFrame + FRAME_MS - clock.monotonic();
    this.#timer = clock.timer(Math.max(0, due), () => {
      this.#timer = undefined;
      this.#frame();
    });
  }

  #frame(): void {
    const { draw, isMoving, clock } = this.#options;
    this.#lastFrame = clock.monotonic();
    this.#isDirty = false;
    this.#write(bounded(draw(this.size), this.size));
    if (isMoving() || this.#isDirty) this.#schedule();
  }

  #write(frame: DrawnFrame): void {
    const isSame = this.#finished.length === 0 && isEqual(frame, this.#drawn);
    const { size } = this;
    const { columns } = size;
    // One that became lower may have dropped what was below the cursor.
    const isSameSize = this.#drawnSize.columns === columns && this.#drawnSize.rows === size.rows;
    if (isSame && (isSameSize || frame.lines.length === 0)) return;
    const { reflow = reflowOf(process.env) } = this.#options;
    const above = rowsAboveCursor(this.#drawn, columns, reflow);
    // A line must be erased as a whole to lose its wrap mark; otherwise tmux would join it to the next one later.
    const before = this.#drawnSize.columns === columns ? "" : ERASE_LINE;
    const finished = this.#finished.map((line) => `${before}${line}${ERASE_REST_OF_LINE}\n`).join("");
    const isGone = frame.lines.length === 0;
    // Never erased from the top of the region: some terminals keep a screen that is erased as a whole in their scrollback.
    const lines = isGone ? new Array<string>(wrappedRows(this.#drawn.lines, columns)).fill("") : frame.lines;
    const region = lines.map((line) => before + line + ERASE_REST_OF_LINE).join("\n");
    const up = isGone ? Math.max(0, lines.length - 1) : lines.length - 1 - frame.cursor.row;
    this.#options.screen.write(
      [
        BEGIN_FRAME,
        HIDE_CURSOR,
        `\r${moveUp(above)}`,
        finished,
        region,
        isGone ? "" : ERASE_BELOW,
        `\r${moveUp(up)}${moveRight(frame.cursor.column)}`,
        frame.isCursorHidden ? "" : SHOW_CURSOR,
        END_FRAME,
      ].join(""),
    );
    this.#finished = [];
    this.#drawn = frame;
    this.#drawnSize = size;
  }
}

/** However much there is to show, the region is never as high as the terminal. */
function bounded(frame: Frame, { rows }: ScreenSize): DrawnFrame {
  const isCursorHidden = frame.cursor === undefined;
  const lines = isCursorHidden ? [...frame.lines, ""] : frame.lines;
  const { row, column } = frame.cursor ?? { row: frame.lines.length, column: 0 };
  const over = Math.max(0, lines.length - (rows - 1));
  return { lines: lines.slice(over), cursor: { row: Math.max(0, row - over), column }, isCursorHidden };
}

function isEqual(one: DrawnFrame, other: DrawnFrame): boolean {
  return (
    one.cursor.row === other.cursor.row &&
    one.cursor.column === other.cursor.column &&
    one.lines.length === other.lines.length &&
    one.lines.every((line, index) => line === other.lines[index])
  );
}

function moveUp(rows: number): string {
  return rows === 0 ? "" : `\u001b[${rows}A`;
}

function moveRight(columns: number): string {
  return columns === 0 ? "" : `\u001b[${columns}C`;
}

/**
 * True when the line of the cursor is wrapped like any other, and the cursor stays on its character. In `xterm.js` (the terminal
 * of VS Code) that line stays as it is, and every row that is added below the cursor moves it down as well.
 */
type Reflow = "whole" | "xterm.js";

export function reflowOf({ TERM_PROGRAM }: Variables): Reflow {
  return TERM_PROGRAM === "vscode" ? "xterm.js" : "whole";
}

/** Counts the rows between the first of the lines and the cursor. */
export function rowsAboveCursor({ lines, cursor }: Required<Frame>, columns: number, reflow: Reflow): number {
  const above = wrappedRows(lines.slice(0, cursor.row), columns);
  if (reflow === "whole") return above + Math.floor(cursor.column / columns);
  const below = lines.slice(cursor.row + 1);
  const added = wrappedRows(below, columns) - below.length;
  const own = wrappedRows(lines.slice(cursor.row, cursor.row + 1), columns) - 1;
  return above + (added === 0 ? 0 : added + own);
}

/** Counts the rows that the lines take. */
export function wrappedRows(lines: readonly string[], columns: number): number {
  return lines.reduce((rows, line) => rows + rowsOf(withoutColour(line), columns), 0);
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
