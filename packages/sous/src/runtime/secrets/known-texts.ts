/** Looks for many known beginnings in a text at once, in far fewer steps than it has characters. */

import type { Span } from "./redact.ts";
import type { Secret } from "./variables.ts";

/** A text to look for: `start` has exactly seven characters, and `check` names the secret that starts here, or its parts. */
export type KnownText = {
  start: string;
  check: (text: string, index: number) => Span | readonly Span[] | undefined;
};

/** All are found by their first characters, so these are as many as the shortest of them has. */
const START_LENGTH = 7;
/** The distance the window can move when the last two characters looked at are in none of them. */
const MAX_STEP = START_LENGTH - 1;
/** A power of two: how many kinds of pairs of characters are told apart. */
const PAIRS = 1 << 14;

/**
 * The algorithm of Wu and Manber: at each position it looks at the last two characters of a window, and a table says how far
 * the window can move without missing anything.
 */
export class KnownTexts {
  readonly #steps: Uint8Array = new Uint8Array(PAIRS).fill(MAX_STEP);
  readonly #byLastPair: Map<number, KnownText[]> = new Map();

  constructor(known: readonly KnownText[]) {
    for (const each of known) this.#add(each);
  }

  /** Undefined when there is nothing. */
  find(text: string): Span[] | undefined {
    const steps = this.#steps;
    const { length } = text;
    let found: Span[] | undefined;
    for (let last = START_LENGTH - 1; last < length; ) {
      const pair = pairOf(text.charCodeAt(last - 1), text.charCodeAt(last));
      const step = steps[pair] ?? 1;
      if (step > 0) {
        last += step;
        continue;
      }
      const index = last - START_LENGTH + 1;
      last += 1;
      for (const { start, check } of this.#byLastPair.get(pair) ?? []) {
        const secret = text.startsWith(start, index) ? check(text, index) : undefined;
        if (secret === undefined) continue;
        for (const span of [secret].flat()) {
          found ??= [];
          // A value of one repeated character is found at every position: what follows is one span, and is not looked at again.
          if (isRepeated(found.at(-1), span)) last = Math.max(last, span.end + START_LENGTH - 1);
          addSpan(found, span);
        }
      }
    }
    return found;
  }

  #add(known: KnownText): void {
    const { start } = known;
    for (let last = 1; last < START_LENGTH; last++) {
      const pair = pairOf(start.charCodeAt(last - 1), start.charCodeAt(last));
      const step = START_LENGTH - 1 - last;
      if (step < (this.#steps[pair] ?? 0)) this.#steps[pair] = step;
      if (step > 0) continue;
      const others = this.#byLastPair.get(pair);
      if (others === undefined) this.#byLastPair.set(pair, [known]);
      else others.push(known);
    }
  }
}

function isRepeated(last: Span | undefined, { start, end, name }: Span): boolean {
  return last?.name === name && (last.end === end - 1 || (last.isRepeated === true && last.end === start));
}

/** Overlapping spans of one value become one. */
function addSpan(found: Span[], span: Span): void {
  const last = found.at(-1);
  const isOne = last?.name === span.name && (span.start < last.end || isRepeated(last, span));
  if (last === undefined || !isOne) found.push(span);
  else if (span.end > last.end)
    found[found.length - 1] = { ...last, end: span.end, isRepeated: isRepeated(last, span) };
}

function pairOf(first: number, second: number): number {
  return ((first << 6) ^ second) & (PAIRS - 1);
}

/** Marks where a text was cut, as our own tools do. */
const CUT_SIGN = "…";
/** Less than this of a secret tells nothing of it. */
const MIN_PIECE = 8;

export function spellingsOf({ name, value }: Secret): KnownText[] {
  const others = new Set([JSON.stringify(value).slice(1, -1), asPartOfUrl(value), ...insideBase64(value)]);
  others.delete(value);
  const spellings = [beginning(value, name), ending(value, name)];
  for (const other of others) if (other.length >= MIN_PIECE) spellings.push(beginning(other, name));
  return spellings;
}

/** Spells a secret as it looks where bytes were written down one by one: each byte is a character there. */
export function asBytes({ name, value }: Secret): KnownText[] {
  const bytes = Buffer.from(value).toString("latin1");
  return bytes === value ? [] : [beginning(bytes, name)];
}

function asPartOfUrl(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}

/** The part that every base64 text with the value has: its position among three bytes decides which of three. */
function insideBase64(value: string): string[] {
  const bytes = Buffer.from(value).toString("latin1");
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
  const offset = value.length - START_LENGTH;
  return {
    start: value.slice(offset),
    check(text, index) {
      let before = 0;
      while (before < offset && index > before && text[index - before - 1] === value[offset - before - 1]) before += 1;
      const span: Span = { start: index - before, end: index + START_LENGTH, name };
      const isCut = span.start === 0 || text[span.start - 1] === CUT_SIGN;
      return isCut && before < offset && isTelling(text.slice(span.start, span.end)) ? span : undefined;
    },
  };
}

/** A single word at the edge of a text is more often a word than a piece of a secret. */
function isTelling(piece: string): boolean {
  return piece.length >= MIN_PIECE && !/^[a-z]+$/i.test(piece);
}
