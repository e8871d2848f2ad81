/**
 * Reads the regular expressions of `grep` and of JSON Schemas: the part of the usual syntax that can be matched in time
 * proportional to the text. Look-around and back-references are not in it.
 */

/** Whether a code point passes. */
export type PointTest = (point: number) => boolean;

export type PatternNode =
  | { type: "literal"; point: number }
  /** Case is in the test already: what is not in a set is so in either case. `cost` is what one test outside ASCII takes. */
  | { type: "set"; test: PointTest; cost: number }
  | { type: "anchor"; anchor: "line-start" | "line-end" | "word-edge" | "no-word-edge" }
  | { type: "sequence"; nodes: readonly PatternNode[] }
  | { type: "choice"; nodes: readonly PatternNode[] }
  | { type: "repeat"; node: PatternNode; min: number; max: number };

/** `lines` for one line of a file, `text` for a text with line ends, as JavaScript reads it with the flag `u`. */
export type PatternDialect = "lines" | "text";
export type PatternSyntax = { ignoreCase: boolean; dialect: PatternDialect };

/** The pattern is not one of this syntax. The message says what it has that cannot be used. */
export class UnusablePattern extends Error {
  override name = "UnusablePattern";
}

const MAX_DEPTH = 50;
export const MAX_REPEAT = 1000;
/** A test of a Unicode property, compared with one of a range of characters. */
const PROPERTY_COST = 8;

export function parsePattern(pattern: string, { ignoreCase, dialect }: PatternSyntax): PatternNode {
  const characters = [...pattern];
  let index = 0;
  let depth = 0;
  const whole = choice();
  if (index < characters.length) throw unusable(pattern, `there is a ")" without a "("`, index);
  return whole;

  function choice(): PatternNode {
    const nodes = [sequence()];
    while (characters[index] === "|") {
      index += 1;
      nodes.push(sequence());
    }
    return nodes.length === 1 && nodes[0] !== undefined ? nodes[0] : { type: "choice", nodes };
  }

  function sequence(): PatternNode {
    const nodes: PatternNode[] = [];
    while (index < characters.length && characters[index] !== "|" && characters[index] !== ")") nodes.push(repeated());
    return { type: "sequence", nodes };
  }

  function repeated(): PatternNode {
    const start = index;
    const node = single();
    const times = quantifier();
    if (times === undefined) return node;
    if (node.type === "anchor") throw unusable(pattern, "an anchor cannot be repeated", start);
    // Lazy or not makes no difference to which lines match.
    if (characters[index] === "?") index += 1;
    if (quantifier() !== undefined) throw unusable(pattern, "a repetition cannot be repeated", index - 1);
    return { type: "repeat", node, ...times };
  }

  function quantifier(): { min: number; max: number } | undefined {
    switch (characters[index]) {
      case "*":
        index += 1;
        return { min: 0, max: Number.POSITIVE_INFINITY };
      case "+":
        index += 1;
        return { min: 1, max: Number.POSITIVE_INFINITY };
      case "?":
        index += 1;
        return { min: 0, max: 1 };
      case "{":
        return counted();
      default:
        return undefined;
    }
  }

  /** `{3}`, `{3,}` or `{3,5}`; anything else is an ordinary brace. */
  function counted(): { min: number; max: number } | undefined {
    const found = /^\{(\d{1,4})(,(\d{0,4}))?\}/.exec(characters.slice(index, index + 12).join(""));
    if (found === null) return undefined;
    const min = Number(found[1]);
    const max = found[2] === undefined ? min : found[3] === "" ? Number.POSITIVE_INFINITY : Number(found[3]);
    if (min > max || min > MAX_REPEAT || (max > MAX_REPEAT && max !== Number.POSITIVE_INFINITY)) {
      throw unusable(pattern, `a repetition counts from 0 to ${MAX_REPEAT}`, index);
    }
    index += found[0].length;
    return { min, max };
  }

  function single(): PatternNode {
    const character = characters[index] ?? "";
    index += 1;
    switch (character) {
      case "(":
        return group();
      case "[":
        return set();
      case "\\":
        return escaped();
      case ".":
        return { type: "set", test: dialect === "lines" ? () => true : (point) => !isLineEnd(point), cost: 1 };
      case "^":
        return { type: "anchor", anchor: "line-start" };
      case "$":
        return { type: "anchor", anchor: "line-end" };
      case "*":
      case "+":
      case "?":
        throw unusable(pattern, `"${character}" has nothing to repeat`, index - 1);
      default:
        return literal(character);
    }
  }

  function group(): PatternNode {
    const start = index - 1;
    depth += 1;
    if (depth > MAX_DEPTH) throw unusable(pattern, "groups are nested too deeply", start);
    if (characters[index] === "?") {
      const opening = /^\?(:|<[A-Za-z_]\w*>)/.exec(characters.slice(index, index + 60).join(""));
      if (opening === null) throw unusable(pattern, "look-around and flags are not supported", start);
      index += opening[0].length;
    }
    const inside = choice();
    if (characters[index] !== ")") throw unusable(pattern, `a "(" is not closed`, start);
    index += 1;
    depth -= 1;
    return inside;
  }

  function set(): PatternNode {
    const start = index - 1;
    const isNegated = characters[index] === "^";
    if (isNegated) index += 1;
    if (dialect === "text" && characters[index] === "]")
      throw unusable(pattern, "a set is empty; write [\\s\\S] for any character", start);
    const tests = new Set<PointTest>();
    let cost = 1;
    for (let isFirst = true; characters[index] !== "]" || isFirst; isFirst = false) {
      if (index >= characters.length) throw unusable(pattern, `a "[" is not closed`, start);
      const from = setMember();
      const isRange = characters[index] === "-" && index + 1 < characters.length && characters[index + 1] !== "]";
      if (isRange) index += 1;
      const to = isRange ? setMember() : from;
      if (from.type === "literal" && to.type === "literal") {
        if (from.point > to.point) throw unusable(pattern, "a range is out of order", index - 1);
        tests.add(caseTest((point) => from.point <= point && point <= to.point, ignoreCase));
        cost += 1;
      } else if (from.type === "set" && from === to) {
        tests.add(from.test);
        cost += from.cost;
      } else throw unusable(pattern, "a range needs a character at both ends", index - 1);
    }
    index += 1;
    const members = [...tests];
    return { type: "set", test: quickForAscii((point) => members.some((test) => test(point)) !== isNegated), cost };
  }

  function setMember(): PatternNode {
    const character = characters[index] ?? "";
    index += 1;
    if (character !== "\\") return literal(character);
    if (characters[index] !== "b") return escaped();
    index += 1;
    return literal("\b");
  }

  function escaped(): PatternNode {
    const character = characters[index] ?? "";
    index += 1;
    const test = CLASSES[character];
    if (test !== undefined) return { type: "set", test, cost: 1 };
    switch (character) {
      case "b":
        return { type: "anchor", anchor: "word-edge" };
      case "B":
        return { type: "anchor", anchor: "no-word-edge" };
      case "p":
      case "P":
        return property(character === "P");
      case "x":
      case "u":
        return codePoint(character);
      case "":
        throw unusable(pattern, `there is nothing after the last "\\"`, index - 1);
      default:
        break;
    }
    const isOctal = character === "0" && /[0-9]/.test(characters[index] ?? "");
    const control = isOctal ? undefined : CONTROLS[character];
    if (control !== undefined) return literal(control);
    if (/[0-9]/.test(character)) throw unusable(pattern, "back-references are not supported", index - 1);
    if (/[A-Za-z]/.test(character)) throw unusable(pattern, `"\\${character}" has no meaning here`, index - 1);
    return literal(character);
  }

  function property(isNegated: boolean): PatternNode {
    const found = /^\{([A-Za-z_=]{1,60})\}/.exec(characters.slice(index, index + 62).join(""));
    try {
      const known = new RegExp(`^\\p{${found?.[1]}}$`, "u");
      index += found?.[0].length ?? 0;
      const test = caseTest((point) => known.test(String.fromCodePoint(point)), ignoreCase);
      return { type: "set", test: quickForAscii((point) => test(point) !== isNegated), cost: PROPERTY_COST };
    } catch {
      throw unusable(pattern, `"\\p" needs a property of Unicode such as {L} or {Script=Greek}`, index - 1);
    }
  }

  function codePoint(kind: "x" | "u"): PatternNode {
    const rest = characters.slice(index, index + 9).join("");
    const found = (kind === "x" ? /^([0-9a-f]{2})/i : /^(?:\{([0-9a-f]{1,6})\}|([0-9a-f]{4}))/i).exec(rest);
    const point = Number.parseInt(found?.[1] ?? found?.[2] ?? "", 16);
    if (found === null || point > 0x10ffff)
      throw unusable(pattern, `"\\${kind}" needs the number of a character`, index - 1);
    index += found[0].length;
    return { type: "literal", point };
  }
}

/** Case is ignored for characters whose upper and lower forms are single characters. */
export function caseTest(test: PointTest, ignoreCase: boolean): PointTest {
  if (!ignoreCase) return test;
  return (point) => {
    if (test(point)) return true;
    const character = String.fromCodePoint(point);
    return [character.toLowerCase(), character.toUpperCase()].some((other) => {
      const folded = other.codePointAt(0) ?? point;
      return other.length === String.fromCodePoint(folded).length && test(folded);
    });
  };
}

/** Remembers the answers for ASCII, so that a large set costs as much as a small one. */
function quickForAscii(test: PointTest): PointTest {
  const known = new Int8Array(128);
  return (point) => {
    if (point >= known.length) return test(point);
    if (known[point] === 0) known[point] = test(point) ? 1 : -1;
    return known[point] === 1;
  };
}

const CONTROLS: Record<string, string> = { t: "\t", n: "\n", r: "\r", f: "\f", v: "\v", 0: "\0" };

const isDigit: PointTest = (point) => point >= 48 && point <= 57;
export const isWord: PointTest = (point) =>
  isDigit(point) || (point >= 65 && point <= 90) || (point >= 97 && point <= 122) || point === 95;
const isLineEnd: PointTest = (point) => point === 10 || point === 13 || point === 0x2028 || point === 0x2029;
const isSpace: PointTest = (point) =>
  point === 32 || (point >= 9 && point <= 13) || (point > 127 && /\s/.test(String.fromCodePoint(point)));

const CLASSES: Record<string, PointTest> = {
  d: isDigit,
  D: (point) => !isDigit(point),
  w: isWord,
  W: (point) => !isWord(point),
  s: isSpace,
  S: (point) => !isSpace(point),
};

function literal(character: string): PatternNode {
  return { type: "literal", point: character.codePointAt(0) ?? 0 };
}

function unusable(pattern: string, what: string, index: number): UnusablePattern {
  return new UnusablePattern(
    `The pattern ${JSON.stringify(pattern)} cannot be used: ${what}, at character ${index + 1}.`,
  );
}
