/** Cuts text to a number of UTF-8 bytes without leaving half a character behind. */

import { isLowSurrogate, utf8Length } from "./usage.ts";

/** The most a model is given of one tool result; tools with a smaller limit of their own cut earlier. */
export const MAX_RESULT_BYTES = 100_000;

export type Truncated = {
  /** Well-formed, and never longer than asked for. */
  text: string;
  originalBytes: number;
  keptBytes: number;
  truncated: boolean;
};

/** Keeps the beginning of the text: at most `maxBytes`, ending between two characters as people see them. */
export function truncateUtf8(text: string, maxBytes: number): Truncated {
  const originalBytes = utf8Length(text);
  if (originalBytes <= maxBytes) {
    return { text: text.toWellFormed(), originalBytes, keptBytes: originalBytes, truncated: false };
  }
  const kept = text.slice(0, characterStart(text, unitsWithin(text, maxBytes))).toWellFormed();
  return { text: kept, originalBytes, keptBytes: utf8Length(kept), truncated: true };
}

/** Keeps the end of the text by the same rule. */
export function truncateUtf8Start(text: string, maxBytes: number): Truncated {
  const originalBytes = utf8Length(text);
  if (originalBytes <= maxBytes) {
    return { text: text.toWellFormed(), originalBytes, keptBytes: originalBytes, truncated: false };
  }
  // One byte less than must go fits before this unit, so the unit goes too, and with it the rest of its character.
  const last = unitsWithin(text, originalBytes - Math.max(0, maxBytes) - 1);
  const kept = text.slice(characterEnd(text, last + 1)).toWellFormed();
  return { text: kept, originalBytes, keptBytes: utf8Length(kept), truncated: true };
}

/** The number of UTF-16 units of the text that fit into `maxBytes`, never counting half a surrogate pair. */
function unitsWithin(text: string, maxBytes: number): number {
  let bytes = 0;
  let index = 0;
  while (index < text.length) {
    const point = text.codePointAt(index) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (bytes > maxBytes) return index;
    index += point < 0x10000 ? 1 : 2;
  }
  return index;
}

/** A character longer than this many units is cut all the same: piled-up marks must not eat the text. */
const MAX_CHARACTER = 128;
/** The distance that the search for a boundary looks back: enough for the longest run of flags that is worth getting right. */
const WINDOW = 1024;

let segmenter: Intl.Segmenter | undefined;

/** The start of the character that holds the unit at `index`; `index` itself when it begins one. */
function characterStart(text: string, index: number): number {
  if (index <= 0 || index >= text.length) return Math.max(0, index);
  if (text.charCodeAt(index - 1) < 0x80 && text.charCodeAt(index) < 0x80 && text[index] !== "\n") return index;
  const segment = characterAt(text, index);
  return index - segment.start > MAX_CHARACTER ? index : segment.start;
}

/** The first boundary between characters at or after `index`. */
function characterEnd(text: string, index: number): number {
  if (index <= 0 || index >= text.length) return Math.min(index, text.length);
  const { start, end } = characterAt(text, index);
  if (start === index) return index;
  if (end - start <= MAX_CHARACTER) return end;
  return isLowSurrogate(text.charCodeAt(index)) ? index + 1 : index;
}

function characterAt(text: string, index: number): { start: number; end: number } {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  let from = Math.max(0, index - WINDOW);
  if (from > 0 && isLowSurrogate(text.charCodeAt(from))) from -= 1;
  const found = segmenter.segment(text.slice(from, index + MAX_CHARACTER)).containing(index - from);
  if (found === undefined) return { start: index, end: index };
  return { start: from + found.index, end: from + found.index + found.segment.length };
}

/** Keeps the beginning and the end, and says in between how much is missing. */
export function truncateMiddle(whole: string, maxBytes: number): Truncated {
  const originalBytes = utf8Length(whole);
  if (originalBytes <= maxBytes) return { text: whole, originalBytes, keptBytes: originalBytes, truncated: false };
  // A unit is at least a byte, so what is kept and where it is cut lies near the ends; the rest is not looked at again.
  const near = Math.ceil(maxBytes / 2) + 2 * WINDOW;
  const head = truncateUtf8(whole.slice(0, near), Math.ceil(maxBytes / 2));
  const tail = truncateUtf8Start(whole.slice(-near), Math.floor(maxBytes / 2));
  const keptBytes = head.keptBytes + tail.keptBytes;
  const text = head.text + cutNotice(originalBytes - keptBytes, originalBytes) + tail.text;
  return { text, originalBytes, keptBytes, truncated: true };
}

/** The notice in the place where a text was cut. */
export function cutNotice(cutBytes: number, originalBytes: number): string {
  return `\n[Notice: ${cutBytes} of ${originalBytes} bytes were cut here]\n`;
}

/** The notice in the place where the output of a command was cut. */
export function leftOutNotice(bytes: number): string {
  return `[${bytes} bytes of output were left out here; write it to a file to look at all of it]`;
}

/** True for a line that says where a text was cut. */
export function isCutNotice(line: string): boolean {
  if (!line.startsWith("[") || !line.endsWith("]")) return false;
  return line.endsWith(" bytes were cut here]") || line.includes(" bytes of output were left out here;");
}

/** A page of a text: at most `maxBytes` from the byte `offset` on, and where the next page begins. */
export function utf8Slice(
  text: string,
  offset: number,
  maxBytes: number,
): { text: string; end: number; total: number } {
  const total = utf8Length(text);
  const rest = truncateUtf8Start(text, Math.max(0, total - offset));
  const page = truncateUtf8(rest.text, maxBytes);
  return { text: page.text, end: total - rest.keptBytes + page.keptBytes, total };
}

/** Removes the characters at the end that are in `characters`; whole characters of one UTF-16 unit each. */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** The white space at the end of a text. */
export function spaceAtEnd(text: string): string {
  return text.slice(text.trimEnd().length);
}
