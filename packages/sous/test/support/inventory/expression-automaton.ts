/** The automaton of an expression: one place for each character that is written, and which place can follow which. */

import type { Node } from "./expression-syntax.ts";

export type Place = {
  readonly source: string;
  /** True when an attempt that came here cannot fail: everything behind may be empty. */
  isFree: boolean;
  readonly next: Set<number>;
  /** Those of `next` that belong to a repetition without an upper bound, or to a sequence. */
  readonly unbounded: Set<number>;
};

export type Automaton = {
  readonly places: readonly Place[];
  readonly first: readonly number[];
  /** True when an attempt is made at the start of the text only. */
  readonly isAnchored: boolean;
  /** What looks ahead or back, by itself; `isOnce` when it is asked at most once for each attempt at the start. */
  readonly looks: readonly { readonly body: Node; readonly isOnce: boolean }[];
  /** What alone makes it exponential: the same step in two ways. */
  readonly twice: readonly string[];
};

type Piece = {
  first: number[];
  last: number[];
  /** Places from which the end of the piece is reached without an assertion. */
  freeLast: number[];
  isNullable: boolean;
  isFreelyNullable: boolean;
};

export function automatonOf(tree: Node): Automaton {
  const places: Place[] = [];
  const looks: { body: Node; isOnce: boolean }[] = [];
  const twice: string[] = [];
  const isAnchored = startsAnchored(tree);
  const whole = build(tree, false);
  for (const index of whole.freeLast) place(index).isFree = true;
  return { places, first: whole.first, isAnchored, looks, twice };

  function place(index: number): Place {
    const found = places[index];
    if (found === undefined) throw new Error("no such place");
    return found;
  }

  function build(node: Node, isRepeated: boolean): Piece {
    switch (node.kind) {
      case "character": {
        const index = places.length;
        places.push({ source: node.source, isFree: false, next: new Set(), unbounded: new Set() });
        return { first: [index], last: [index], freeLast: [index], isNullable: false, isFreelyNullable: false };
      }
      case "assertion":
        if (node.body !== undefined) looks.push({ body: node.body, isOnce: isAnchored && !isRepeated });
        return { first: [], last: [], freeLast: [], isNullable: true, isFreelyNullable: false };
      case "sequence":
        return node.parts.map((part) => build(part, isRepeated)).reduce(inSequence, EMPTY);
      case "choice":
        return node.options.map((option) => build(option, isRepeated)).reduce(either);
      case "repeat":
        return repeat(node, isRepeated);
      default:
        return node satisfies never;
    }
  }

  function repeat({ body, min, max }: Node & { kind: "repeat" }, isRepeated: boolean): Piece {
    if (max === 0) return EMPTY;
    const piece = build(body, isRepeated || max > 1);
    if (max === 1) return min === 0 ? optional(piece) : piece;
    // `(a?){30}` can leave out any of the thirty.
    if (piece.isNullable) twice.push("a repetition of what may be empty");
    // Counting to a bound is a constant, unless there are several ways to count.
    const isBounded = max !== Infinity && !varies(body);
    if (isBounded) {
      connect(piece.last, piece.first, false);
      return min === 0 ? optional(piece) : piece;
    }
    if (min <= 1) {
      connect(piece.last, piece.first, true);
      return min === 0 ? optional(piece) : piece;
    }
    // The first ones are counted: only what comes after them is free to fail or not.
    connect(piece.last, piece.first, false);
    const rest = build(body, true);
    connect(rest.last, rest.first, true);
    return inSequence(piece, optional(rest));
  }

  function inSequence(left: Piece, right: Piece): Piece {
    connect(left.last, right.first, true);
    return {
      first: left.isNullable ? [...left.first, ...right.first] : left.first,
      last: right.isNullable ? [...left.last, ...right.last] : right.last,
      freeLast: right.isFreelyNullable ? [...left.freeLast, ...right.freeLast] : right.freeLast,
      isNullable: left.isNullable && right.isNullable,
      isFreelyNullable: left.isFreelyNullable && right.isFreelyNullable,
    };
  }

  function connect(from: readonly number[], to: readonly number[], isUnbounded: boolean): void {
    for (const left of from) {
      for (const right of to) {
        if (isUnbounded && place(left).unbounded.has(right)) {
          twice.push(`${place(left).source} then ${place(right).source}, in two ways`);
        }
        place(left).next.add(right);
        if (isUnbounded) place(left).unbounded.add(right);
      }
    }
  }
}

const EMPTY: Piece = { first: [], last: [], freeLast: [], isNullable: true, isFreelyNullable: true };

function either(left: Piece, right: Piece): Piece {
  return {
    first: [...left.first, ...right.first],
    last: [...left.last, ...right.last],
    freeLast: [...left.freeLast, ...right.freeLast],
    isNullable: left.isNullable || right.isNullable,
    isFreelyNullable: left.isFreelyNullable || right.isFreelyNullable,
  };
}

function optional(piece: Piece): Piece {
  return { ...piece, isNullable: true, isFreelyNullable: true };
}

/** True when the same text can be counted in several ways: something within may be longer, shorter or another. */
function varies(node: Node): boolean {
  switch (node.kind) {
    case "character":
    case "assertion":
      return false;
    case "sequence":
      return node.parts.some(varies);
    case "choice":
      return true;
    case "repeat":
      return node.min !== node.max || varies(node.body);
    default:
      return node satisfies never;
  }
}

function startsAnchored(node: Node): boolean {
  switch (node.kind) {
    case "assertion":
      return node.source === "^";
    case "sequence":
      return node.parts[0] !== undefined && startsAnchored(node.parts[0]);
    case "choice":
      return node.options.every(startsAnchored);
    default:
      return false;
  }
}
