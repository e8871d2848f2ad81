/** Tokens that no issuer ever made, from the rows of the table: none stands here whole, so no scanner takes one for real. */

import {
  MARKED_SECRETS,
  PARTLY_KNOWN,
  TOKEN_SHAPES,
  type TokenShape,
} from "../../../../src/runtime/secrets/token-table.ts";
import { seededRandom } from "../../../../src/testing/world.ts";
import { type Node, readExpression } from "../../inventory/expression-syntax.ts";

export type TokenKind = {
  /** What its mark says. */
  readonly name: string;
  readonly start: string;
  readonly care: TokenShape[3];
  /** Another token for each number. */
  make(number: number): string;
};

/** A repetition without a fixed number is made at most this much longer than it has to be. */
const MORE = 24;
const ASCII = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index));

/** One kind for each beginning of each row. */
export const TOKEN_KINDS: readonly TokenKind[] = TOKEN_SHAPES.flatMap(([name, starts, rest, care, lead]) => {
  const body = readExpression(rest.source);
  const before = readExpression(lead?.source ?? "");
  return starts.split(" ").map((start): TokenKind => {
    const make = (number: number) => {
      const random = seededRandom(number, start);
      let made = madeFrom(body, random);
      // By chance there is none in one of thirty short ones, and then nothing tells them from a name.
      while (care !== undefined && made.replaceAll(/\D/g, "").length < 3) made = madeFrom(body, random);
      return madeFrom(before, random) + start + made;
    };
    return { name, start, care, make };
  });
});

/** Secrets that are known by what is before them or by a part of them: the text before each, and the secret. */
export const OTHER_KINDS: readonly (readonly [name: string, before: string, make: (number: number) => string])[] = [
  ...MARKED_SECRETS.map(([name, before, , rest]) => [name, before, maker(before, rest)] as const),
  ["Azure secret", "", maker("azure", /[\w~.]{3}\dQ~[\w~.-]{31}[A-Za-z0-9]/)],
  ...PARTLY_KNOWN.map(([name, at, part, whole]) => [name, "", partlyMade(name, at, part, whole)] as const),
];

function maker(purpose: string, expression: RegExp): (number: number) => string {
  const tree = readExpression(expression.source);
  return (number) => madeFrom(tree, seededRandom(number, purpose));
}

/** Where the expression does not say what the part is, it is put there. */
function partlyMade(name: string, at: number, part: string, whole: RegExp): (number: number) => string {
  const make = maker(name, whole);
  return (number) => {
    const made = make(number);
    return made.slice(0, at) + part + made.slice(at + part.length);
  };
}

/** A text that the expression takes. What looks ahead or back is left out. */
function madeFrom(node: Node, random: () => number): string {
  const upTo = (count: number) => Math.floor(random() * count);
  switch (node.kind) {
    case "character": {
      const one = new RegExp(`^${node.source}$`);
      const characters = ASCII.filter((character) => one.test(character));
      return characters[upTo(characters.length)] ?? "";
    }
    case "sequence":
      return node.parts.map((part) => madeFrom(part, random)).join("");
    case "choice":
      return madeFrom(node.options[upTo(node.options.length)] ?? node, random);
    case "repeat": {
      const count = node.min + upTo(Math.min(node.max - node.min, MORE) + 1);
      return Array.from({ length: count }, () => madeFrom(node.body, random)).join("");
    }
    case "assertion":
      return "";
    default:
      return node satisfies never;
  }
}
