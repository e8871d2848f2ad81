/** Looks for many known beginnings in a text at once, in far fewer steps than it has characters. */

import type { Span } from "./redact.ts";

/** What to look for: `start` has exactly seven characters, and `check` says what it is that begins or is there. */
export type KnownText = {
  start: string;
  check: (text: string, index: number) => Span | undefined;
};

/** All are found by their first characters, so these are as many as the shortest of them has. */
export const START_LENGTH = 7;
/** How far one can go on when the last two characters looked at are in none of them. */
const LONGEST_STEP = START_LENGTH - 1;
/** A power of two: how many kinds of pairs of characters are told apart. */
const PAIRS = 1 << 14;

/**
 * The algorithm of Wu and Manber: at each place it looks at the last two characters of a window, and a table says how far
 * the window can move without missing anything.
 */
export class KnownTexts {
  readonly #steps: Uint8Array = new Uint8Array(PAIRS).fill(LONGEST_STEP);
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
        const span = text.startsWith(start, index) ? check(text, index) : undefined;
        if (span === undefined) continue;
        found ??= [];
        // A value of one repeated character is found at every place: what follows is one span, and is not looked at again.
        if (isRepeated(found.at(-1), span)) last = Math.max(last, span.end + START_LENGTH - 1);
        addSpan(found, span);
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
