/**
 * Texts in which a secret may be written in other characters. Each way of writing is undone and the known values are
 * looked for in the result, instead of listing every way in which a value can be written.
 */

import { dumpOrigin, hexOrigin, numbersOrigin, type OriginRules, originsOf, shiftedHexOrigin } from "./origins.ts";
import type { Span } from "./redact.ts";

/** Finds the known values in a plain text. */
type FindValues = (text: string) => readonly Span[] | undefined;

type Decoding = OriginRules & {
  /** Undoing costs a copy of the text: only one in which something like it may occur is copied. */
  readonly isLikely: RegExp;
};

/** A value has no room to be written differently in shorter texts. */
const MIN_LENGTH = 16;

/** Spans of the text as it was given. Undefined when there is nothing. */
export function findDecoded(text: string, find: FindValues): Span[] | undefined {
  if (text.length < MIN_LENGTH) return undefined;
  let found: Span[] | undefined;
  for (const decoding of DECODINGS) {
    if (!decoding.isLikely.test(text)) continue;
    const { pattern, decode } = decoding;
    // A function for each blank of a text would take ten times as long.
    const spans = find(decode === undefined ? text.replace(pattern, "") : text.replace(pattern, decode));
    if (spans === undefined) continue;
    found ??= [];
    for (const span of originsOf(text, decoding, spans)) found.push(span);
  }
  return found;
}

/** Soft hyphens, joiners and other invisible characters. */
const UNSEEN =
  "\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufe00-\\ufe0f\\ufeff";
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", sol: "/" };
const ESCAPE = String.raw`%[0-9a-f]{2}|\\u\{[0-9a-f]{1,6}\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\[0-7]{3}|\\["'\\/]|&#x[0-9a-f]{1,6};|&#[0-9]{1,7};|&(?:amp|lt|gt|quot|apos|sol);|[${UNSEEN}]`;

/** A line of `xxd`, `hexdump` or `od`: an offset, bytes, and perhaps the same as letters. */
const DUMP_LINE =
  /^[ \t]*[0-9a-f]{4,16}:?[ \t]+((?:[0-9a-f]{2}){1,8}(?:[ \t]{1,2}(?:[0-9a-f]{2}){1,8}){0,63})(?:[ \t]{2,}[^\r\n]*|[ \t]*\|[^\r\n]*)?(?:\r?\n|$)/gim;
/** Eight bytes or more, together or with something in between, as in certificates and in source code. */
const HEX_RUN = /(?:[0-9a-f]{2}(?:(?:[\s:,.-]|\\n){1,5}(?:0x|\\x)?)?){7,}[0-9a-f]{2}/gi;
/** Numbers of bytes in a list, as code and `od -t d1` write them. */
const NUMBER_RUN = /\b\d{1,3}(?:[\s,;]{1,6}\d{1,3}\b){7,}/g;

const MAY_ESCAPE = new RegExp(`[%\\\\&${UNSEEN}]`);
const MAY_DUMP = /^[ \t]*[0-9a-f]{4,16}:?[ \t]/im;
const MAY_HEX = /[0-9A-Fa-f]{2}[0-9A-Fa-f\s:,.\\x-]{14}/;
const MAY_NUMBERS = /\d[\s,;]{1,6}\d{1,3}[\s,;]{1,6}\d/;

/** White space, as it is or written. */
const BLANKS = /^(?:\s|\\{1,4}[nrt])*$/;
/** A line break in it may not begin a command: a sign stands directly behind a byte or not at all. */
const BETWEEN_HEX = /^[:,.-]?(?:\s|\\n)*(?:0x|\\x)?$/i;
const BETWEEN_NUMBERS = /^[,;]?\s*$/;
/** Invisible characters are all that becomes nothing. */
const ANYTHING = /^/;

const DECODINGS: readonly Decoding[] = [
  { isLikely: MAY_ESCAPE, pattern: new RegExp(ESCAPE, "gi"), decode: unescaped, between: ANYTHING },
  // Lines that were wrapped, as base64 wraps them, also as part of JSON, and letters that are set apart, as od sets them.
  { isLikely: /\s|\\[nrt]/, pattern: /(?:\s|\\{1,4}[nrt])+/g, between: BLANKS },
  // Lines with numbers in front, as read_file and `cat -n` print them, and with a name, as grep does.
  { isLikely: /\n[ \t]{0,12}\d{1,7}\t/, pattern: /^[ \t]{0,12}\d{1,7}\t|\s+/gm, between: BLANKS },
  { isLikely: /:\d{1,7}:/, pattern: /^[^\s:]{1,200}:\d{1,7}:|\s+/gm, between: BLANKS },
  { isLikely: MAY_DUMP, pattern: /^[ \t]*[0-9a-f]{6,16}:?[ \t]+|\s+/gim, between: BLANKS },
  {
    isLikely: MAY_DUMP,
    pattern: DUMP_LINE,
    decode: dumped,
    origin: (line, bytes) => dumpOrigin(line, bytes, dumped(line, bytes)),
    between: BLANKS,
  },
  {
    isLikely: MAY_DUMP,
    pattern: DUMP_LINE,
    decode: (line, bytes) => turned(dumped(line, bytes)),
    origin: (line, bytes) => dumpOrigin(line, bytes, turned(dumped(line, bytes)), true),
    between: BLANKS,
  },
  {
    isLikely: MAY_HEX,
    pattern: HEX_RUN,
    decode: (run) => bytesOf(digitsOf(run)),
    origin: hexOrigin,
    between: BETWEEN_HEX,
  },
  {
    isLikely: MAY_HEX,
    pattern: HEX_RUN,
    decode: (run) => bytesOf(digitsOf(run).slice(1)),
    origin: shiftedHexOrigin,
    between: BETWEEN_HEX,
  },
  {
    isLikely: MAY_NUMBERS,
    pattern: NUMBER_RUN,
    decode: numbersOf,
    origin: numbersOrigin,
    between: BETWEEN_NUMBERS,
  },
];

function dumped(_line: string, bytes: string): string {
  return bytesOf(digitsOf(bytes));
}

function unescaped(written: string): string {
  if (written.startsWith("%")) return characterOf(written.slice(1), 16);
  if (/^\\[ux]/i.test(written)) return characterOf(written.replaceAll(/[^0-9a-f]|^\\u/gi, ""), 16);
  if (/^\\[0-7]/.test(written)) return characterOf(written.slice(1), 8);
  if (written.startsWith("\\")) return written.slice(1);
  if (/^&#x/i.test(written)) return characterOf(written.slice(3, -1), 16);
  if (written.startsWith("&#")) return characterOf(written.slice(2, -1), 10);
  return written.startsWith("&") ? (ENTITIES[written.slice(1, -1).toLowerCase()] ?? "") : "";
}

function characterOf(digits: string, base: number): string {
  const code = Number.parseInt(digits, base);
  return code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
}

function digitsOf(run: string): string {
  return run.replaceAll(/0x|[^0-9a-f]+/gi, "");
}

/** Words of two bytes as `od -x` and `hexdump` print them on most machines: the second byte first. */
function turned(bytes: string): string {
  let text = "";
  for (let index = 0; index < bytes.length; index += 2) text += (bytes[index + 1] ?? "") + bytes[index];
  return text;
}

function numbersOf(run: string): string {
  return (run.match(/\d+/g) ?? []).map((digits) => String.fromCharCode(Number(digits))).join("");
}

/** One character for each byte. */
function bytesOf(digits: string): string {
  return Buffer.from(digits, "hex").toString("latin1");
}

/** Characters of the shown text that are looked at again with the next piece. Less than eight characters of a value tell nothing. */
const CONTEXT = 64;

export class PieceRedactor {
  readonly #find: FindValues;
  readonly #markOf: (name: string) => string;
  /** The end of the text so far, as it came; all of a value that has begun. */
  #before = "";
  /** True when the text so far ends within a value, for which a mark was shown. */
  #isWithin = false;

  constructor(find: FindValues, markOf: (name: string) => string) {
    this.#find = find;
    this.#markOf = markOf;
  }

  next(piece: string): string {
    const from = this.#before.length;
    const text = this.#before + piece;
    let shown = "";
    let done = from;
    let open = Number.POSITIVE_INFINITY;
    const found = this.#find(text)?.toSorted((one, other) => one.start - other.start);
    for (const { start, end, name } of found ?? []) {
      if (end <= done) continue;
      const isKnown = this.#isWithin && start < from && done === from;
      shown += text.slice(done, Math.max(done, start)) + (isKnown ? "" : this.#markOf(name));
      done = end;
      if (end === text.length) open = Math.min(open, start);
    }
    this.#isWithin = open < text.length;
    this.#before = text.slice(Math.min(open, Math.max(0, text.length - CONTEXT)));
    return done === from ? piece : shown + text.slice(done);
  }
}
