/** Shows the change of an edit as a small unified diff. */

import { truncateUtf8 } from "../../core/truncate.ts";
import { truncateLine } from "./line-scan.ts";

/** `start` and `end` are positions in the text before. */
export type Replacement = { start: number; end: number; text: string };

const CONTEXT = 2;
const MAX_LINE_BYTES = 400;
const MAX_BYTES = 8 * 1024;
/** More have no room in the answer: each takes at least five bytes of it. */
const MAX_REPLACEMENTS = 2000;
const NOT_SHOWN = "[the rest of the change is not shown]";

/** `replacements` in order, at least one, none within another. */
export function describeChange(before: string, all: readonly Replacement[]): string {
  const replacements = all.slice(0, MAX_REPLACEMENTS);
  const lines = linesOf(before);
  const starts = lineStarts(lines);
  const shown: string[] = [];
  let bytes = 0;
  let grown = 0;
  const hunks = groups(replacements, starts, lines.length);
  for (const [index, { first, last, members }] of hunks.entries()) {
    const hunk = hunkOf(before, lines, starts, { first, last, members }, grown);
    grown += hunk.grown;
    bytes += Buffer.byteLength(hunk.text);
    if (bytes > MAX_BYTES) {
      if (index === 0) shown.push(truncateUtf8(hunk.text, MAX_BYTES).text);
      shown.push(NOT_SHOWN);
      break;
    }
    shown.push(hunk.text);
  }
  if (bytes <= MAX_BYTES && all.length > replacements.length) shown.push(NOT_SHOWN);
  return shown.join("\n");
}

/** Lines `first` to `last`, counted from 0, that one hunk shows, and what happens in them. */
type Group = { first: number; last: number; members: Replacement[] };

function groups(replacements: readonly Replacement[], starts: readonly number[], count: number): Group[] {
  const found: Group[] = [];
  let line = 0;
  for (const replacement of replacements) {
    while (line + 1 < count && (starts[line + 1] ?? 0) <= replacement.start) line += 1;
    const first = Math.max(0, line - CONTEXT);
    while (line + 1 < count && (starts[line + 1] ?? 0) < replacement.end) line += 1;
    const last = Math.min(count - 1, line + CONTEXT);
    const open = found.at(-1);
    if (open !== undefined && first <= open.last + 1) {
      open.last = last;
      open.members.push(replacement);
    } else {
      found.push({ first, last, members: [replacement] });
    }
  }
  return found;
}

function hunkOf(
  before: string,
  lines: readonly string[],
  starts: readonly number[],
  { first, last, members }: Group,
  grown: number,
): { text: string; grown: number } {
  const old = lines.slice(first, last + 1);
  const from = starts[first] ?? 0;
  const pieces: string[] = [];
  let at = from;
  for (const { start, end, text } of members) {
    pieces.push(before.slice(at, start), text);
    at = end;
  }
  pieces.push(before.slice(at, starts[last + 1] ?? before.length));
  const now = linesOf(pieces.join(""));
  return { text: compared(old, now, first, grown).join("\n"), grown: now.length - old.length };
}

/** Lines that are the same at both ends are context; between them the old ones go and the new ones come. */
function compared(old: readonly string[], now: readonly string[], first: number, grown: number): string[] {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const before = Math.min(head, CONTEXT);
  const after = Math.min(tail, CONTEXT);
  const gone = old.slice(head, old.length - tail);
  const come = now.slice(head, now.length - tail);
  const start = first + head - before;
  const context = before + after;
  return [
    `@@ -${range(start, gone.length + context)} +${range(start + grown, come.length + context)} @@`,
    ...old.slice(head - before, head).map((line) => ` ${shownLine(line)}`),
    ...gone.map((line) => `-${shownLine(line)}`),
    ...come.map((line) => `+${shownLine(line)}`),
    ...old.slice(old.length - tail, old.length - tail + after).map((line) => ` ${shownLine(line)}`),
  ];
}

function range(first: number, count: number): string {
  return `${count === 0 ? first : first + 1},${count}`;
}

function shownLine(line: string): string {
  return truncateLine(line.replace(/\r?\n$/, ""), MAX_LINE_BYTES);
}

/** Each with its line ending. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]+\n?|\n/g) ?? [];
}

function lineStarts(lines: readonly string[]): number[] {
  const starts = [0];
  for (const line of lines) starts.push((starts.at(-1) ?? 0) + line.length);
  return starts;
}
