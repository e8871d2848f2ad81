/** R16: every regular expression of the sources on texts made from it, to see whether its time grows as the text does. */

import { automatonOf } from "../support/inventory/expression-automaton.ts";
import { readExpression } from "../support/inventory/expression-syntax.ts";
import { UNPROVED } from "../support/inventory/expression-table.ts";
import { expressionsIn } from "../support/inventory/expressions-in-sources.ts";
import { sourceFiles } from "../support/source-files.ts";

export type SlowExpression = { readonly path: string; readonly written: string; readonly growth: number };
export type ExpressionFigure = { readonly expressions: number; readonly slow: readonly SlowExpression[] };

/** More than the largest bounded repetition, which is a constant. */
const LENGTH = 16_000;
const TIMES = 16;
const MAX_GROWTH = 40;
const ROUNDS = 5;
/** Below this the clock and not the expression is measured. */
const MIN_MILLISECONDS = 4;

export function measureExpressions(): ExpressionFigure {
  const listed = new Map(UNPROVED.map((row) => [`${row.path} ${row.written}`, row]));
  const slow: SlowExpression[] = [];
  let expressions = 0;
  for (const { path, written, literal } of sourceFiles().flatMap(expressionsIn)) {
    const row = listed.get(`${path} ${written}`);
    // A row without a worst text is for text that no stranger writes.
    if (row !== undefined && row.worst === undefined) continue;
    const expression = row?.worst?.expression ?? new RegExp(literal?.source ?? "", everywhere(literal?.flags ?? ""));
    const texts = row?.worst === undefined ? textsFor(literal?.source ?? "", expression) : [row.worst.text];
    const growth = Math.max(0, ...texts.map((text) => leastGrowthOf(expression, text)));
    expressions += 1;
    if (growth > MAX_GROWTH) slow.push({ path, written, growth });
  }
  return { expressions, slow };
}

function everywhere(flags: string): string {
  return `${flags.replace(/[gy]/g, "")}g`;
}

/** What each character of the expression takes, again and again; all of them in a row; and both with an end that fits nothing. */
function textsFor(source: string, expression: RegExp): ((length: number) => string)[] {
  const flags = expression.flags.replace("g", "");
  const characters = automatonOf(readExpression(source)).places.map((place) => {
    const one = new RegExp(`^(?:${place.source})$`, flags);
    return SAMPLES.find((sample) => one.test(sample)) ?? "a";
  });
  const whole = characters.join("");
  const pieces = new Set([...characters, whole, whole.slice(0, -1), `${whole}\n`].filter((piece) => piece !== ""));
  return [...pieces].flatMap((piece) => [
    (length: number) => filled(piece, length),
    (length: number) => `${characters[0] ?? ""}${filled(piece, length)}\u0000`,
  ]);
}

const SAMPLES = [
  ..."aA0 \t\n-_.,;:/\\\"'`<>()[]{}|&=+*?!#$%@~^",
  ...Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)),
  "\u200b",
  "\u202e",
  "\u2028",
  "\ufe0f",
  "一",
  "\u{1f600}",
  "\u{1f3f4}",
  "\u{e0041}",
];

function filled(piece: string, length: number): string {
  return piece.repeat(Math.ceil(length / piece.length));
}

/** Others at work on the machine can only make it slower. */
function leastGrowthOf(expression: RegExp, text: (length: number) => string): number {
  let least = growthOf(expression, text);
  for (let again = 0; again < 5 && least > MAX_GROWTH; again++) least = Math.min(least, growthOf(expression, text));
  return least;
}

function growthOf(expression: RegExp, text: (length: number) => string): number {
  const [short, long] = [text(LENGTH), text(LENGTH * TIMES)];
  const longTime = bestTime(expression, long);
  return longTime < MIN_MILLISECONDS ? 0 : longTime / bestTime(expression, short);
}

function bestTime(expression: RegExp, text: string): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    text.replace(expression, "");
    best = Math.min(best, performance.now() - startedAt);
  }
  return best;
}
