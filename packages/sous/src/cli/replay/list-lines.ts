/** Runs and conversations in a list: three lines each, with the id whole so that it can be copied. */

import { shortFolder } from "../files/paths.ts";
import type { ListedConversation } from "../stored/list-conversations.ts";
import { cost, duration, plural, tokens } from "../terminal/figures.ts";
import { inertLine } from "../terminal/inert.ts";
import { colourOf, type Style } from "../terminal/style.ts";
import { cutToWidth, displayWidth, joinToWidth } from "../terminal/width.ts";
import { statusWords } from "../view/run-tree.ts";

/** `here` is the folder whose runs need not say where they belong. */
export function listLines(
  entries: readonly ListedConversation[],
  columns: number,
  style: Style,
  here: string | undefined,
): string[] {
  return entries.flatMap((entry) => entryLines(entry, columns, style, here));
}

function entryLines(
  { first, last, messages, durationMs, ...sums }: ListedConversation,
  columns: number,
  { glyphs, paint }: Style,
  here: string | undefined,
): string[] {
  const { status, stopReason, startedAt } = last;
  const record = { ...first, ...sums, status, stopReason };
  const { cwd } = record;
  const isRoot = record.parentId === null;
  const colour = colourOf(status);
  const id = inertLine(record.id, 60);
  const path = cutStart(inertLine(record.path, 200), columns - displayWidth(id) - 4, glyphs.more);
  const figures = [
    statusWords(record),
    messages === 1 ? "" : plural(messages, "message"),
    record.lost === undefined ? "" : "not stored to its end",
    plural(record.turns, "turn"),
    tokens(record.usage.totalTokens, record.usage.estimated),
    cost(record.costUsd),
    durationMs === undefined ? "" : duration(durationMs),
    localTime(startedAt),
  ].filter((figure) => figure !== "");
  const [firstFigures = "", ...moreFigures] = joinToWidth(figures, glyphs.dot, columns - 2);
  const place = isRoot ? ["root"] : [`depth ${record.depth}`, `parent ${inertLine(record.parentId ?? "", 60)}`];
  if (cwd !== undefined && cwd !== here) place.push(shortFolder(cwd));
  const task = inertLine(record.task);
  const about = columns >= WIDE ? [[...place, task].join(glyphs.dot)] : [...place, task];
  return [
    `${paint(colour, glyphs.status[status])} ${paint(isRoot ? "bold" : "dim", id)}  ${path}`.trimEnd(),
    // The first figure is the ending.
    `  ${paint(colour, statusWords(record))}${firstFigures.slice(statusWords(record).length)}`,
    ...moreFigures.map((line) => `  ${line}`),
    ...about.map((line) => paint("dim", `  ${cutToWidth(line, columns - 2, glyphs.more)}`)),
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
