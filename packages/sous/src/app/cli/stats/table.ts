/** A table as wide as the terminal: names on the left, numbers on the right, and a bar where there is room. */

import type { Output } from "../terminal/output.ts";
import type { Colour } from "../terminal/style.ts";
import { breakLine, displayWidth, fillToWidth, joinToWidth } from "../terminal/text.ts";

export type Cell = { readonly text: string; readonly colour?: Colour | undefined };

/** Numbers: on the right side of their column. */
export type Column = {
  readonly head: string;
  readonly cells: readonly Cell[];
  /** A column with a higher number is left out first when the terminal is narrow. */
  readonly rank: number;
};

export type Table = {
  readonly head: string;
  readonly names: readonly string[];
  /** A name that does not fit. */
  cutName(name: string, columns: number): string;
  readonly columns: readonly Column[];
  /** Values from 0 to 1, one for each name; drawn behind the last column. */
  readonly bars?: readonly number[] | undefined;
};

export type Sheet = Pick<Output, "columns" | "style">;

const GAP = 2;
const MIN_NAME = 12;
const MIN_BAR = 8;
const MAX_BAR = 40;

export function tableLines(table: Table, { columns: width, style }: Sheet): string[] {
  const { paint } = style;
  const widest = Math.max(...[table.head, ...table.names].map(displayWidth));
  const least = Math.min(widest, MIN_NAME) + (table.bars === undefined ? 0 : GAP + MIN_BAR);
  const columns = fitting(table.columns, width - least);
  const nameWidth = Math.max(0, Math.min(widest, width - takenBy(columns)));
  const barWidth = table.bars === undefined ? 0 : roomForBar(width - nameWidth - takenBy(columns));
  const head = [
    paint("dim", fillToWidth(table.cutName(table.head, nameWidth), nameWidth)),
    ...columns.map((column) => paint("dim", column.head.padStart(widthOf(column)))),
  ];
  const rows = table.names.map((name, row) => {
    const cells = columns.map((column) => rightCell(column, row, style));
    const bar = barWidth === 0 ? [] : [paint("cyan", barText(table.bars?.[row] ?? 0, barWidth, style.glyphs.bar))];
    return [fillToWidth(table.cutName(name, nameWidth), nameWidth), ...cells, ...bar];
  });
  return [head, ...rows].map((parts) => parts.join(" ".repeat(GAP)).trimEnd());
}

/** Leaves out columns until the others fit. */
function fitting(columns: readonly Column[], room: number): readonly Column[] {
  if (columns.length <= 1 || takenBy(columns) <= room) return columns;
  const last = Math.max(...columns.map(({ rank }) => rank));
  return fitting(
    columns.filter(({ rank }) => rank !== last),
    room,
  );
}

function takenBy(columns: readonly Column[]): number {
  return columns.reduce((sum, column) => sum + GAP + widthOf(column), 0);
}

function widthOf({ head, cells }: Column): number {
  return Math.max(head.length, ...cells.map(({ text }) => text.length));
}

function rightCell(column: Column, row: number, { paint }: Sheet["style"]): string {
  const { text, colour } = column.cells[row] ?? { text: "" };
  return " ".repeat(widthOf(column) - text.length) + paint(colour, text);
}

function roomForBar(left: number): number {
  const room = left - GAP;
  return room < MIN_BAR ? 0 : Math.min(room, MAX_BAR);
}

/** `parts` are the fillings of one character, the whole one last. Anything above zero is seen. */
export function barText(share: number, columns: number, parts: readonly string[]): string {
  if (!(share > 0)) return "";
  const steps = Math.max(1, Math.round(Math.min(1, share) * columns * parts.length));
  const rest = steps % parts.length;
  const whole = (parts.at(-1) ?? "").repeat(Math.floor(steps / parts.length));
  return rest === 0 ? whole : whole + (parts[rest - 1] ?? "");
}

/** Items one after another, with a new line where the next one would not fit. */
export function flowLines(given: readonly Cell[], { columns, style: { glyphs, paint } }: Sheet): string[] {
  const items = given.flatMap(({ text, colour }) => breakLine(text, columns).map((part) => paint(colour, part)));
  return joinToWidth(items, glyphs.dot, columns);
}
