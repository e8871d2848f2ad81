/** Text and numbers as a terminal shows them: made harmless, short, and cut or filled to a number of columns. */

import { plainText } from "../../../core/clean-text.ts";

/** Keeps line breaks, and tabs as spaces; everything that moves the cursor, hides or reorders text is taken out. */
export function inert(text: string): string {
  return plainText(text).replaceAll("\t", "    ");
}

/** The same as one line, cut to about `maxLength` units. */
export function inertLine(text: string, maxLength = 400): string {
  // Reads twice as much, because characters that are removed do not count. What is not read is never left out in silence.
  const line = inert(text.slice(0, maxLength * 2))
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= maxLength && text.length <= maxLength * 2
    ? line
    : `${line.slice(0, maxLength).toWellFormed()}...`;
}

/** `0.4s`, `58s`, `1m12s`, `2h05m`. */
export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 9.95) return `${Math.max(0, seconds).toFixed(1)}s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}m${pad(whole % 60)}s`;
  return `${Math.floor(minutes / 60)}h${pad(minutes % 60)}m`;
}

/** `950 tok`, `48.2k tok`, `1.3M tok`; `~` before what was estimated. */
export function tokens(count: number, isEstimated: boolean): string {
  const mark = isEstimated ? "~" : "";
  if (count < 1000) return `${mark}${count} tok`;
  if (count < 999_950) return `${mark}${(count / 1000).toFixed(1)}k tok`;
  return `${mark}${(count / 1_000_000).toFixed(1)}M tok`;
}

/** `$0.09`; empty when nothing was spent, `$?` when the price is unknown. */
export function cost(dollars: number | null): string {
  if (dollars === null) return "$?";
  if (dollars === 0) return "";
  return dollars < 0.005 ? "<$0.01" : `$${dollars.toFixed(2)}`;
}

/** Puts the word in quotes where a shell would need them. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word);
}

export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `2026-11-15 07:25`, in the time zone of this machine. */
export function localTime(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? "?" : `${localDay(time)} ${pad(date.getHours())}:${pad(date.getMinutes())}`;
}

/** `2026-11-15`, in the time zone of this machine. */
export function localDay(time: number): string {
  const date = new Date(time);
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}

/** Counts the units that two texts begin with alike. */
export function commonStart(one: string, other: string): number {
  let index = 0;
  while (index < one.length && one[index] === other[index]) index += 1;
  return index;
}

let segmenter: Intl.Segmenter | undefined;

export function displayWidth(text: string): number {
  if (isPlain(text)) return text.length;
  let width = 0;
  for (const character of charactersOf(text)) width += characterWidth(character);
  return width;
}

/** Cuts to at most `columns`, with `mark` at the end when something was cut. */
export function cutToWidth(text: string, columns: number, mark = "…"): string {
  if (text.length <= columns && isPlain(text)) return text;
  const markWidth = displayWidth(mark);
  let width = 0;
  let end = 0;
  let kept = 0;
  // Ends with the first character that does not fit: the text may be much longer than a line.
  for (const character of charactersOf(text)) {
    width += characterWidth(character);
    if (width > columns) return columns < markWidth ? "" : text.slice(0, kept).trimEnd() + mark;
    end += character.length;
    if (width + markWidth <= columns) kept = end;
  }
  return text;
}

/** Cuts the beginning of a path to at most `columns`: its end says most. */
export function cutStart(path: string, columns: number, mark: string): string {
  if (displayWidth(path) <= columns) return path;
  const names = path.split("/");
  if (names.length === 1) return cutToWidth(path, columns, mark);
  // Each takes a column at least, so only the last ones can fit.
  names.splice(0, Math.max(1, names.length - columns));
  while (names.length > 1 && displayWidth(`${mark}/${names.join("/")}`) > columns) names.shift();
  return cutToWidth(`${mark}/${names.join("/")}`, columns, mark);
}

/** Cuts or fills to exactly `columns`. */
export function fitToWidth(text: string, columns: number, mark = "…"): string {
  return fillToWidth(cutToWidth(text, columns, mark), columns);
}

export function fillToWidth(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - displayWidth(text)));
}

/** Breaks between words where it can; every line takes at most `columns`. */
export function wrapToWidth(text: string, columns: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (displayWidth(longer) <= columns) {
      line = longer;
      continue;
    }
    if (line !== "") lines.push(line);
    line = cutToWidth(word, columns);
  }
  return [...lines, line];
}

/** Joins what belongs together, and begins a new line where the next one would not fit. Items may be painted. */
export function joinToWidth(items: readonly string[], separator: string, columns: number): string[] {
  const [first, ...others] = items;
  if (first === undefined) return [];
  const lines: string[] = [];
  let line = first;
  for (const item of others) {
    const longer = line + separator + item;
    if (displayWidth(withoutColour(longer)) > columns) {
      lines.push(line);
      line = item;
    } else line = longer;
  }
  return [...lines, line];
}

export function withoutColour(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the codes that `paint` writes.
  return line.replace(/\u001b\[\d+m/g, "");
}

/** Breaks one line, between words where it can, and loses nothing but the space at a break. */
export function breakLine(text: string, columns: number): string[] {
  const characters = isPlain(text) ? text : [...charactersOf(text)];
  const lines: string[] = [];
  let start = 0;
  let width = 0;
  let space = -1;
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index] ?? "";
    width += characterWidth(character);
    if (width > columns && index > start) {
      const end = space > start ? space : index;
      lines.push(join(characters, start, end));
      // A space at the break is the break.
      start = characters[end] === " " ? end + 1 : end;
      width = displayWidth(join(characters, start, index + 1));
      space = -1;
    } else if (character === " " && !isIndent(characters, start, index)) space = index;
  }
  return [...lines, join(characters, start, characters.length)];
}

function isIndent(characters: string | readonly string[], start: number, end: number): boolean {
  for (let index = start; index < end; index++) if (characters[index] !== " ") return false;
  return true;
}

function join(characters: string | readonly string[], start: number, end: number): string {
  return typeof characters === "string" ? characters.slice(start, end) : characters.slice(start, end).join("");
}

function isPlain(text: string): boolean {
  return /^[ -~]*$/.test(text);
}

export function* charactersOf(text: string): Generator<string> {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(text)) yield segment;
}

const MAX_LOOKED_AT = 100;
const WIDE = /^(?:\p{Emoji_Presentation}|\p{Regional_Indicator}{2}|\p{Extended_Pictographic}\ufe0f)/u;
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]+$/u;
/** East Asian wide and full-width blocks. */
const WIDE_BLOCKS: readonly (readonly [from: number, to: number])[] = [
  [0x1100, 0x115f],
  [0x2e80, 0x303e],
  [0x3041, 0x33ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa000, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x17000, 0x18aff],
  [0x1b000, 0x1b2ff],
  [0x20000, 0x3fffd],
];

function characterWidth(character: string): number {
  const point = character.codePointAt(0) ?? 0;
  if (point >= 0x20 && point < 0x7f) return 1;
  // Piled-up marks make one character of any length; its beginning says enough.
  if (NO_WIDTH.test(character.slice(0, MAX_LOOKED_AT))) return 0;
  return WIDE.test(character) || WIDE_BLOCKS.some(([from, to]) => point >= from && point <= to) ? 2 : 1;
}
