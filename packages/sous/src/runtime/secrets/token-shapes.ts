/** Finds tokens of known services: compares nothing but where one of them may begin. */

import type { Span } from "./redact.ts";
import { type Care, PARTLY_KNOWN, TOKEN_SHAPES } from "./token-table.ts";

/** One beginning of a row of the table. */
type Shape = {
  readonly name: string;
  readonly start: string;
  readonly rest: RegExp;
  readonly care: Care | undefined;
  readonly lead: RegExp | undefined;
  /** The length of the part of the beginning before the row: all up to its last sign. */
  readonly offset: number;
};

/** A power of two. */
const PLACES = 1 << 14;

/** Some beginnings share a place with others: the whole of a beginning is compared in any case. */
function placeOf(first: number, second: number, third: number): number {
  return ((first << 7) ^ (second << 4) ^ third) & (PLACES - 1);
}

/** The shapes that may stand where three characters are: for most characters there are none. */
class ShapesByStart {
  readonly #lists: (Shape[] | undefined)[] = new Array<Shape[] | undefined>(PLACES).fill(undefined);

  /** Each of `thirds` may be the third character. A longer beginning comes first: it says more of the token. */
  add(first: number, second: number, thirds: readonly number[], shape: Shape): void {
    for (const place of new Set(thirds.map((third) => placeOf(first, second, third)))) {
      const list = [...(this.#lists[place] ?? []), shape];
      this.#lists[place] = list.sort((one, other) => other.start.length - one.start.length);
    }
  }

  at(text: string, index: number): readonly Shape[] | undefined {
    return this.#lists[placeOf(text.charCodeAt(index), text.charCodeAt(index + 1), text.charCodeAt(index + 2))];
  }
}

/** Every token has at least this many letters, digits, `-` and `_` in a row. */
const ROW_LENGTH = 16;
/** Max times that one row may look like the beginning of a token that is none. */
const MAX_ATTEMPTS = 16;

/** Letters and digits, and what ends a word in a row of them; 0 for all other characters. */
const IN_ROW = 1;
const ENDS_WORD = 3;
const KINDS: Uint8Array = new Uint8Array(128);
const ROW_CHARACTERS: number[] = [];
for (let code = 0; code < KINDS.length; code++) {
  const character = String.fromCharCode(code);
  if (!/[\w-]/.test(character)) continue;
  KINDS[code] = /[_-]/.test(character) ? ENDS_WORD : IN_ROW;
  ROW_CHARACTERS.push(code);
}

/** Signs that divide a token into rows: in its beginning, in what follows, or both. */
const IN_START = 4;
const IN_REST = 8;
const SIGNS: Uint8Array = new Uint8Array(128);
for (const sign of "+/.%!") SIGNS[sign.charCodeAt(0)] = IN_REST;
/** The characters that may stand in a token behind its beginning. */
const PARTS: Uint8Array = SIGNS.slice();
for (const code of ROW_CHARACTERS) PARTS[code] = KINDS[code] ?? 0;

/** By the first three characters. */
const BEGINNINGS = new ShapesByStart();
/** Beginnings with a sign in them, by the two characters before the row and the first one of it. */
const JOINED = new ShapesByStart();

for (const [name, starts, rest, care, lead] of TOKEN_SHAPES) {
  for (const start of starts.split(" ")) {
    const sign = start.search(/[^\w-][\w-]*$/);
    const shape: Shape = { name, start, rest, care, lead, offset: sign + 1 };
    for (const first of codesAt(start, 0)) BEGINNINGS.add(first, start.charCodeAt(1), codesAt(start, 2), shape);
    if (sign < 0) continue;
    const code = start.charCodeAt(sign);
    SIGNS[code] = (SIGNS[code] ?? 0) | IN_START;
    for (const before of codesAt(start, sign - 1)) JOINED.add(before, code, codesAt(start, sign + 1), shape);
  }
}

/** All that may be there, where the beginning itself has no character. */
function codesAt(start: string, index: number): readonly number[] {
  return index >= 0 && index < start.length ? [start.charCodeAt(index)] : ROW_CHARACTERS;
}

/**
 * Undefined when there is none. Only every sixteenth character is looked at, and its neighbours only when it could be in a
 * row that is long enough.
 */
export function tokenShapes(text: string): Span[] | undefined {
  const { length } = text;
  let found: Span[] | undefined;
  for (let index = ROW_LENGTH - 1; index < length; index += ROW_LENGTH) {
    let kinds = kindAt(text, index);
    if (kinds === 0) continue;
    let start = index;
    for (let kind = kinds; start > 0; start -= 1) {
      kind = kindAt(text, start - 1);
      if (kind === 0) break;
      kinds |= kind;
    }
    let end = index + 1;
    for (let kind = kinds; end < length; end += 1) {
      kind = kindAt(text, end);
      if (kind === 0) break;
      kinds |= kind;
    }
    const token = end - start < ROW_LENGTH ? undefined : tokenIn(text, start, end, kinds === ENDS_WORD);
    if (token !== undefined) {
      found ??= [];
      found.push(token);
    }
    // The next row begins behind this one.
    index = token?.end ?? end;
  }
  return found;
}

function kindAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code < 128 ? (KINDS[code] ?? 0) : 0;
}

function tokenIn(text: string, start: number, end: number, hasWords: boolean): Span | undefined {
  const token = joinedToken(text, start) ?? partlyKnown(text, start, end) ?? tokenAt(text, start);
  if (token !== undefined || end - start === ROW_LENGTH) return token;
  const isEscaped = start > 0 && ESCAPES.includes(text.charAt(start - 1));
  return (
    (isEscaped ? escapedToken(text, start, end) : undefined) ?? (hasWords ? laterToken(text, start, end) : undefined)
  );
}

/** A token behind an escape, the letters of which are in the row. */
function escapedToken(text: string, start: number, end: number): Span | undefined {
  const limit = Math.min(start + MAX_ESCAPE, end - ROW_LENGTH + 1);
  for (let index = start + 1; index < limit; index++) {
    const token = isBehindEscape(text, index) ? (partlyKnown(text, index, end) ?? tokenAt(text, index)) : undefined;
    if (token !== undefined) return token;
  }
  return undefined;
}

/** A token behind a `-` or a `_` in the row. */
function laterToken(text: string, start: number, end: number): Span | undefined {
  const last = end - ROW_LENGTH;
  let attempts = 1;
  for (let word = nextWord(text, start, last); word <= last; word = nextWord(text, word, last)) {
    if (BEGINNINGS.at(text, word) === undefined) continue;
    const token = tokenAt(text, word);
    attempts += 1;
    if (token !== undefined || attempts === MAX_ATTEMPTS) return token;
  }
  return undefined;
}

/** More than `last` when there is none up to there. */
function nextWord(text: string, from: number, last: number): number {
  let index = from;
  while (index < last && text.charCodeAt(index) !== DASH && text.charCodeAt(index) !== UNDERSCORE) index += 1;
  return index < last ? index + 1 : last + 1;
}

function tokenAt(text: string, index: number): Span | undefined {
  return firstOf(BEGINNINGS.at(text, index), text, index);
}

/** A token with a sign in its beginning, the last of them before the row. */
function joinedToken(text: string, start: number): Span | undefined {
  const sign = start > 1 ? text.charCodeAt(start - 1) : 0;
  const kind = sign < 128 ? (SIGNS[sign] ?? 0) : 0;
  if (kind === 0) return undefined;
  const token = (kind & IN_START) === 0 ? undefined : joinedAt(text, start);
  const isPart = token === undefined && (kind & IN_REST) !== 0;
  return isPart ? earlierToken(text, start) : token;
}

const MAX_PARTS = 80;

/** A token with a sign so early that only a later part of it is a row: a `/` of base64, or `dp.st.` and a name. */
function earlierToken(text: string, row: number): Span | undefined {
  const min = Math.max(0, row - MAX_PARTS);
  let index = row - 1;
  // A part that is long enough is a row, and was looked at by itself.
  for (let length = 0; index > min && length < ROW_LENGTH; index--) {
    const code = text.charCodeAt(index - 1);
    const part = code < 128 ? (PARTS[code] ?? 0) : 0;
    const isBegun = part === 0 || part === ENDS_WORD || isBehindScheme(text, index);
    const token = isBegun ? tokenAt(text, index) : undefined;
    if (part === 0 || token !== undefined) return token;
    length = part === IN_REST ? 0 : length + 1;
  }
  return index === 0 ? tokenAt(text, index) : undefined;
}

function joinedAt(text: string, row: number): Span | undefined {
  const shapes = JOINED.at(text, row - 2);
  if (shapes === undefined) return undefined;
  for (const shape of shapes) {
    const index = row - shape.offset;
    if (!text.startsWith(shape.start, index)) continue;
    const isBoundary = shape.lead !== undefined || index === 0 || !LETTER.test(text.charAt(index - 1));
    const token = isBoundary || isBehindEscape(text, index) ? firstOf([shape], text, index) : undefined;
    if (token !== undefined) return token;
  }
  return undefined;
}

const LETTER = /[A-Za-z0-9]/;
/** More than any lead is long. */
const MAX_LEAD = 40;

function firstOf(shapes: readonly Shape[] | undefined, text: string, index: number): Span | undefined {
  if (shapes === undefined) return undefined;
  for (const { name, start, rest, care, lead } of shapes) {
    if (!text.startsWith(start, index)) continue;
    rest.lastIndex = index + start.length;
    const match = rest.exec(text)?.[0];
    if (match === undefined || !(care === undefined ? isVaried(match) : isRandom(match))) continue;
    const behind = index + start.length + match.length;
    if (care === "alone" && !isAlone(text, index, behind)) continue;
    const before = lead === undefined ? "" : lead.exec(text.slice(Math.max(0, index - MAX_LEAD), index))?.[0];
    if (before !== undefined) return { start: index - before.length, end: tokenEnd(text, behind), name };
  }
  return undefined;
}

/** Not a part of a longer name, of a path, or of base64. */
function isAlone(text: string, start: number, end: number): boolean {
  const isBegun =
    start === 0 ||
    !/[\w+/-]/.test(text.charAt(start - 1)) ||
    isBehindScheme(text, start) ||
    isBehindEscape(text, start);
  return isBegun && (end === text.length || !/[\w+/=-]/.test(text.charAt(end)));
}

/** The name of a user in an address. */
function isBehindScheme(text: string, index: number): boolean {
  return text.charCodeAt(index - 1) === SLASH && text.startsWith("://", index - 3);
}

const SLASH = 0x2f;

const MIN_PARTLY_KNOWN = 36;
const MAX_PARTLY_KNOWN = 88;

/** A key that is known by a part of it. */
function partlyKnown(text: string, start: number, end: number): Span | undefined {
  if (end - start < MIN_PARTLY_KNOWN || end - start > MAX_PARTLY_KNOWN) return undefined;
  for (const [name, at, part, whole] of PARTLY_KNOWN) {
    if (text.charCodeAt(start + at) !== part.charCodeAt(0) || !text.startsWith(part, start + at)) continue;
    whole.lastIndex = start;
    if (whole.test(text) && isVaried(text.slice(start, start + at))) return { start, end: whole.lastIndex, name };
  }
  return undefined;
}

const DASH = 0x2d;
const UNDERSCORE = 0x5f;
/** Characters that can be before the letters and digits of an escape. */
const ESCAPES = "\\%[;";
const ESCAPE = /(?:\\(?:[nrtbf]|u[\dA-Fa-f]{4})|%[\dA-Fa-f]{2}|\p{Cc}\[[\d;]{0,9}[A-Za-z])$/u;
const MAX_ESCAPE = 12;

/** A token may follow a line end written as `\n`, a space written as `%20`, or the change of a colour. */
export function isBehindEscape(text: string, index: number): boolean {
  return ESCAPE.test(text.slice(Math.max(0, index - MAX_ESCAPE), index));
}

/** Finds the end behind the row, and behind further parts after dots, which newer tokens have. */
function tokenEnd(text: string, from: number): number {
  let end = from;
  while (end < text.length && (kindAt(text, end) !== 0 || (text[end] === "." && kindAt(text, end + 1) !== 0))) end += 1;
  return end;
}

/** False for a placeholder such as `xxxx…`. */
function isVaried(token: string): boolean {
  const end = token.slice(-32);
  return new Set(end).size >= Math.min(10, Math.floor(end.length / 2));
}

/** Letters and digits mixed as no name or sentence has them: in one long piece, or changing again and again. */
export function isRandom(token: string): boolean {
  if (!isVaried(token)) return false;
  const pieces = token.split(/[^A-Za-z0-9]/);
  if (pieces.some((piece) => piece.length >= 12 && /\d/.test(piece) && /[A-Za-z]/.test(piece))) return true;
  const changes = token.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0;
  return changes >= (/[a-z]/.test(token) && /[A-Z]/.test(token) ? 3 : 4);
}
