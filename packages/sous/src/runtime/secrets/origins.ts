/**
 * Maps a part of a decoded text to the characters it was written with, and to no others: a person is asked to allow the text
 * around a mark, and must see it. So one part can become several spans.
 */

import type { Span } from "./redact.ts";

type Range = { readonly start: number; readonly end: number };

/** The ranges of a match that became its decoded characters from `from` to `to`, in the order of the match. */
type Ranges = (from: number, to: number) => readonly Range[];

/** The way back from a decoded text. */
export type OriginRules = {
  readonly pattern: RegExp;
  /** Undefined for what is left out. */
  readonly decode?: ((match: string, group: string) => string) | undefined;
  /** Undefined where each character came from the whole match. */
  readonly origin?: ((match: string, group: string) => Ranges) | undefined;
  /** Text between two characters that is hidden with them. Any other stays, with a mark on both sides of it. */
  readonly between: RegExp;
};

/** Takes the spans of the decoded text. Takes time for every match, so it is for texts in which something was found. */
export function originsOf(text: string, rules: OriginRules, spans: readonly Span[]): Span[] {
  const matches = matchesIn(text, rules);
  return spans.flatMap((span) => originOf(span, text, rules, matches));
}

type Match = Range & {
  decodedStart: number;
  decodedEnd: number;
  /** The text of the first group. */
  group: string;
  /** Made on first use. */
  ranges?: Ranges | undefined;
};

function matchesIn(text: string, { pattern, decode }: OriginRules): Match[] {
  const matches: Match[] = [];
  let shift = 0;
  for (const { 0: match, 1: group = "", index } of text.matchAll(pattern)) {
    const length = decode?.(match, group).length ?? 0;
    const decodedStart = index - shift;
    matches.push({ start: index, end: index + match.length, decodedStart, decodedEnd: decodedStart + length, group });
    shift += match.length - length;
  }
  return matches;
}

function originOf({ start, end, name }: Span, text: string, rules: OriginRules, matches: readonly Match[]): Span[] {
  const found: Span[] = [];
  const add = (range: Range): void => {
    const last = found.at(-1);
    const isNext = last?.end === range.start || (last && rules.between.test(text.slice(last.end, range.start)));
    if (last !== undefined && isNext) last.end = range.end;
    else found.push({ ...range, name });
  };
  let next = firstBehind(start, matches);
  for (let at = start; at < end; next++) {
    const before = matches[next - 1];
    const shift = before === undefined ? 0 : before.end - before.decodedEnd;
    const match = matches[next];
    const plainEnd = Math.min(end, match?.decodedStart ?? end);
    if (at < plainEnd) add({ start: at + shift, end: plainEnd + shift });
    at = Math.max(at, plainEnd);
    const matchEnd = Math.min(end, match?.decodedEnd ?? end);
    if (match === undefined || at >= matchEnd) continue;
    for (const range of rangesOf(match, text, rules)(at - match.decodedStart, matchEnd - match.decodedStart)) {
      add({ start: match.start + range.start, end: match.start + range.end });
    }
    at = matchEnd;
  }
  return found;
}

/** The index of the first match of which a decoded character is at `at` or behind it. */
function firstBehind(at: number, matches: readonly Match[]): number {
  let low = 0;
  let high = matches.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((matches[middle]?.decodedEnd ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function rangesOf(match: Match, text: string, { origin }: OriginRules): Ranges {
  const { start, end, group } = match;
  match.ranges ??= origin?.(text.slice(start, end), group) ?? (() => [{ start: 0, end: end - start }]);
  return match.ranges;
}

export function numbersOrigin(run: string): Ranges {
  const numbers = [...run.matchAll(/\d+/g)].map(rangeOfMatch);
  return (from, to) => numbers.slice(from, to);
}

/** Two digits a byte. */
export function hexOrigin(run: string): Ranges {
  const digits = digitRanges(run);
  return (from, to) => digits.slice(2 * from, 2 * to);
}

/** Without the first digit, which belongs to no byte. */
export function shiftedHexOrigin(run: string): Ranges {
  const digits = digitRanges(run);
  return (from, to) => digits.slice(2 * from + 1, 2 * to + 1);
}

function digitRanges(run: string): Range[] {
  return [...run.matchAll(/0x|[0-9a-f]/gi)].map(rangeOfMatch).filter(({ start, end }) => end === start + 1);
}

function rangeOfMatch({ 0: match, index }: RegExpExecArray): Range {
  return { start: index, end: index + match.length };
}

const DUMP_OFFSET = /^[ \t]*[0-9a-f]+:?[ \t]+/i;

/** `decoded` are the bytes that the line became; in words of two turned bytes, the digits of each pair of them are turned, too. */
export function dumpOrigin(line: string, group: string, decoded: string, isTurned = false): Ranges {
  const offset = DUMP_OFFSET.exec(line)?.[0].length ?? 0;
  const digits = digitRanges(group).map(({ start, end }) => ({ start: start + offset, end: end + offset }));
  const letters = lettersOf(line, offset + group.length, decoded);
  return (from, to) => {
    const found: Range[] = [];
    for (let index = from; index < to; index++) {
      const byte = isTurned && (index | 1) < decoded.length ? index ^ 1 : index;
      found.push(...digits.slice(2 * byte, 2 * byte + 2));
    }
    found.sort((one, other) => one.start - other.start);
    return [...found, ...letters(from, to)];
  };
}

/** The frames that `hexdump -C` and `od -z` set around the letters of a line; `xxd` sets none. */
const FRAMES = [
  ["", ""],
  ["|", "|"],
  [">", "<"],
] as const;

/** The letters behind the bytes of a line, where they are what these bytes print as, or the beginning of it where the line is cut. */
function lettersOf(line: string, from: number, decoded: string): Ranges {
  const printed = decoded.replaceAll(/[^ -~]/g, ".");
  const behind = line.slice(from).trimEnd();
  const given = behind.trimStart();
  for (const [open, close] of FRAMES) {
    const whole = `${open}${printed}${close}`.trimEnd();
    const blanks = whole.length - whole.trimStart().length;
    const start = behind.length - given.length - blanks;
    if (given === "" || start < 0 || !whole.startsWith(given, blanks)) continue;
    const first = from + start + open.length;
    const last = Math.min(from + behind.length, first + printed.length);
    return (one, other) =>
      [{ start: first + one, end: Math.min(last, first + other) }].filter((range) => range.start < range.end);
  }
  return () => [];
}
