/** A text that streams: a value that comes in several pieces is hidden from the moment on in which it can be told. */

import type { FindValues } from "./secret-decodings.ts";

/** So much of what was shown is looked at again with the next piece. Less than eight characters of a value tell nothing. */
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
    for (const { start, end, name } of inOrder(this.#find(text))) {
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

function inOrder(spans: ReturnType<FindValues>): NonNullable<ReturnType<FindValues>> {
  return spans === undefined ? [] : spans.toSorted((one, other) => one.start - other.start);
}
