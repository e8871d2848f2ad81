/** Runs in a list: three lines each, with the id whole so that it can be copied. */

import type { RunRecord } from "../core/store.ts";
import { cost, duration, plural, tokens } from "./figures.ts";
import { inertLine } from "./inert.ts";
import { statusWords } from "./run-tree.ts";
import { colourOf, type Style } from "./style.ts";
import { cutToWidth, displayWidth, joinToWidth } from "./width.ts";

export function listLines(records: readonly RunRecord[], columns: number, style: Style): string[] {
  return records.flatMap((record) => recordLines(record, columns, style));
}

function recordLines(record: RunRecord, columns: number, { glyphs, paint }: Style): string[] {
  const { status, startedAt, endedAt } = record;
  const isRoot = record.parentId === null;
  const colour = colourOf(status);
  const id = inertLine(record.id, 60);
  const path = cutStart(inertLine(record.path, 200), columns - displayWidth(id) - 4, glyphs.more);
  const figures = [
    statusWords(record),
    plural(record.turns, "turn"),
    tokens(record.usage.totalTokens, record.usage.estimated),
    cost(record.costUsd),
    endedAt === undefined ? "" : duration(endedAt - startedAt),
    localTime(startedAt),
  ].filter((figure) => figure !== "");
  const [firstFigures = "", ...moreFigures] = joinToWidth(figures, glyphs.dot, columns - 2);
  const place = isRoot ? ["root"] : [`depth ${record.depth}`, `parent ${inertLine(record.parentId ?? "", 60)}`];
  const task = inertLine(record.task);
  const last = columns >= WIDE ? [[...place, task].join(glyphs.dot)] : [...place, task];
  return [
    `${paint(colour, glyphs.status[status])} ${paint(isRoot ? "bold" : "dim", id)}  ${path}`.trimEnd(),
    // The first figure is the ending.
    `  ${paint(colour, statusWords(record))}${firstFigures.slice(statusWords(record).length)}`,
    ...moreFigures.map((line) => `  ${line}`),
    ...last.map((line) => paint("dim", `  ${cutToWidth(line, columns - 2, glyphs.more)}`)),
  ];
}

/** Below this the task has a line of its own. */
const WIDE = 76;

/** Of a path the end says most. */
function cutStart(path: string, columns: number, mark: string): string {
  if (displayWidth(path) <= columns) return path;
  const names = path.split("/");
  if (names.length === 1) return cutToWidth(path, columns, mark);
  // Each takes a column at least, so only the last ones can fit.
  names.splice(0, Math.max(1, names.length - columns));
  while (names.length > 1 && displayWidth(`${mark}/${names.join("/")}`) > columns) names.shift();
  return cutToWidth(`${mark}/${names.join("/")}`, columns, mark);
}

/** `2026-11-15 07:25`, where the person is. */
export function localTime(time: number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "?";
  const two = (number: number): string => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
