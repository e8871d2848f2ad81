/** How a known secret can appear in a text: as it is, as part of JSON, of a URL or of base64, or cut at an edge. */

import { type KnownText, START_LENGTH } from "./known-texts.ts";
import type { Span } from "./redact.ts";
import type { Secret } from "./secret-variables.ts";

/** Whoever cuts a text says so with this sign, as our own tools do. */
const CUT_SIGN = "…";
/** Less than this of a secret tells nothing of it. */
const SHORTEST_PIECE = 8;

export function spellingsOf({ name, value }: Secret): KnownText[] {
  const others = new Set([JSON.stringify(value).slice(1, -1), asPartOfUrl(value), ...insideBase64(value)]);
  others.delete(value);
  const spellings = [beginning(value, name), ending(value, name)];
  for (const other of others) if (other.length >= SHORTEST_PIECE) spellings.push(beginning(other, name));
  return spellings;
}

/** As it is found where bytes were written down one by one: each of them is a character there. */
export function asBytes({ name, value }: Secret): KnownText[] {
  const bytes = String.fromCharCode(...new TextEncoder().encode(value));
  return bytes === value ? [] : [beginning(bytes, name)];
}

function asPartOfUrl(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}

/** What every base64 text has that holds the value: where it begins among three bytes decides which of three. */
function insideBase64(value: string): string[] {
  const bytes = String.fromCharCode(...new TextEncoder().encode(value));
  const texts = [0, 1, 2].map((before) => {
    const text = btoa("\0".repeat(before) + bytes);
    const bits = (before + bytes.length) * 8;
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(bits / 6));
  });
  return [...texts, ...texts.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"))];
}

/** All of the value, or the beginning of it at the end of a text or where it was cut. */
function beginning(value: string, name: string): KnownText {
  return {
    start: value.slice(0, START_LENGTH),
    check(text, index) {
      let length = START_LENGTH;
      while (length < value.length && text.charCodeAt(index + length) === value.charCodeAt(length)) length += 1;
      const span: Span = { start: index, end: index + length, name };
      if (length === value.length) return span;
      const isCut = span.end === text.length || text[span.end] === CUT_SIGN;
      return isCut && isTelling(text.slice(span.start, span.end)) ? span : undefined;
    },
  };
}

/** The end of the value at the start of a text or where it was cut. */
function ending(value: string, name: string): KnownText {
  const place = value.length - START_LENGTH;
  return {
    start: value.slice(place),
    check(text, index) {
      let before = 0;
      while (before < place && index > before && text[index - before - 1] === value[place - before - 1]) before += 1;
      const span: Span = { start: index - before, end: index + START_LENGTH, name };
      const isCut = span.start === 0 || text[span.start - 1] === CUT_SIGN;
      return isCut && before < place && isTelling(text.slice(span.start, span.end)) ? span : undefined;
    },
  };
}

/** A single word at the edge of a text is more often a word than a piece of a secret. */
function isTelling(piece: string): boolean {
  return piece.length >= SHORTEST_PIECE && !/^[a-z]+$/i.test(piece);
}
