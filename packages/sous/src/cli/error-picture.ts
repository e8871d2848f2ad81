/** A mistake as people see it: where it is, the line with a mark below it, what is wrong, and what to do. */

import type { Problem, SourceLine } from "../core/problem.ts";
import { whereIs } from "../core/problem.ts";
import { inert, inertLine } from "./inert.ts";
import type { Style } from "./style.ts";
import { displayWidth } from "./width.ts";

/** Of a line of the file; what is longer is shown around the mark. */
const MAX_COLUMNS = 100;

export function errorPicture(problem: Problem, style: Style): string[] {
  const { code, place, message, fix } = problem;
  const said = plain(inertLine(message, 500), style);
  return [
    `${style.paint("red", "error")} ${style.paint("bold", code)}  ${inertLine(whereIs(problem), 300)}`,
    ...(place.kind === "file" && place.source.length > 0
      ? sourceLines(place.source, place, said, style)
      : givenLines(place.kind === "file" ? undefined : place.text, said, style)),
    `   ${style.paint("cyan", "fix")}   ${plain(inertLine(fix, 500), style)}`,
  ];
}

function sourceLines(
  lines: readonly SourceLine[],
  { line, column }: { line: number; column: number },
  message: string,
  style: Style,
): string[] {
  const bar = barOf(style);
  const digits = String(line).length;
  const { start, mark } = windowAround(lines.find(({ number }) => number === line)?.text ?? "", column);
  const shown = lines.map(({ number, text }) => {
    const label = `${String(number).padStart(digits)} ${bar}`;
    const cut = inertPart(text, start, start + MAX_COLUMNS);
    return number === line ? ` ${style.paint("red", ">")} ${label} ${cut}` : style.paint("dim", `   ${label} ${cut}`);
  });
  const blank = " ".repeat(digits + 4);
  return [...shown, `${blank}${bar} ${" ".repeat(mark)}${style.paint("red", "^")} ${message}`];
}

/** Where the shown part of a long line begins, and how many columns into it the mark is. */
function windowAround(text: string, column: number): { start: number; mark: number } {
  const at = Math.min(column - 1, text.length);
  const start = at < MAX_COLUMNS - 20 ? 0 : at - 40;
  return { start, mark: displayWidth(inertPart(text, start, at)) };
}

/** Spaces stay as they are: the mark counts on them. */
function inertPart(text: string, start: number, end: number): string {
  return inert(text.slice(start, end).replaceAll(/[\r\n]/g, " "));
}

function givenLines(text: string | undefined, message: string, style: Style): string[] {
  const bar = barOf(style);
  return text === undefined
    ? [` ${style.paint("red", ">")} ${bar} ${message}`]
    : [` ${style.paint("red", ">")} ${bar} ${inertLine(text, 200)}`, `   ${bar} ${style.paint("red", "^")} ${message}`];
}

function barOf({ glyphs }: Style): string {
  return glyphs.line.trimEnd();
}

/** Our own words have signs that not every screen can show. */
function plain(text: string, { glyphs }: Style): string {
  return glyphs.more === "..." ? text.replaceAll("–", "-").replaceAll("…", "...") : text;
}
