/**
 * Reads the regular expressions of `grep` and of JSON Schemas and writes them in the syntax of RE2. Look-around and
 * back-references are refused.
 */

import { CLASSES, propertyName } from "./character-class.ts";

/** `lines` for one line of a file, `text` for a text with line ends, as JavaScript reads it with the flag `u`. */
export type PatternDialect = "lines" | "text";

/** A pattern, or a part of one, in the syntax of RE2. */
type PatternSource = {
  source: string;
  /** The number of instructions that it is compiled to. */
  size: number;
  /** The longest text that every match holds; empty when there is none. */
  required: string;
  /** The number of times that counted repetitions inside each other repeat the innermost part. */
  repeats: number;
  type: "literal" | "anchor" | "other";
};

/** The pattern is not one of this syntax. The message says what it has that cannot be used. */
export class UnusablePattern extends Error {
  override name = "UnusablePattern";
}

const MAX_DEPTH = 50;
/** RE2 has the same limit, also for repetitions inside each other. */
const MAX_REPEAT = 1000;
/** Repetitions are written out, so this bounds them too: the longest one, each time optional, has room. */
const MAX_SIZE = 2 * MAX_REPEAT + 500;

/** A member of a set: one character, or a class as it is written in a set of RE2. */
type Member = number | string;

/** Throws `UnusablePattern`. */
export function readLiteral(text: string): PatternSource {
  return bounded(inSequence([...text].map((each) => literal(pointOf(each)))));
}

/** Throws `UnusablePattern`. */
export function readPattern(pattern: string, dialect: PatternDialect): PatternSource {
  const characters = [...pattern];
  let index = 0;
  let depth = 0;
  const whole = choice();
  if (index < characters.length) throw unusable(pattern, `there is a ")" without a "("`, index);
  return bounded(whole);

  function choice(): PatternSource {
    const first = sequence();
    if (characters[index] !== "|") return first;
    const choices = [first];
    while (characters[index] === "|") {
      index += 1;
      choices.push(sequence());
    }
    const size = choices.reduce((sum, each) => sum + each.size, choices.length - 1);
    return part(choices.map(({ source }) => source).join("|"), size, "", repeatsIn(choices));
  }

  function sequence(): PatternSource {
    const parts: PatternSource[] = [];
    while (index < characters.length && characters[index] !== "|" && characters[index] !== ")") parts.push(repeated());
    return inSequence(parts);
  }

  function repeated(): PatternSource {
    const start = index;
    const once = single();
    const times = quantifier();
    if (times === undefined) return once;
    if (once.type === "anchor") throw unusable(pattern, "an anchor cannot be repeated", start);
    if (characters[index] === "?") index += 1;
    if (quantifier() !== undefined) throw unusable(pattern, "a repetition cannot be repeated", index - 1);
    // Repeating an empty match changes nothing.
    if (once.size === 0) return once;
    const { min, max } = times;
    const isEndless = max === Number.POSITIVE_INFINITY;
    const size = min * once.size + (isEndless ? 1 : max - min) * (once.size + 1);
    const repeats = Math.max(1, isEndless ? min : max) * once.repeats;
    // Lazy or not makes no difference to which texts match. Lazy matches end early, and a long line is shown where one ends.
    const source = `${once.source}{${min},${isEndless ? "" : max}}?`;
    return part(source, size, min > 0 ? once.required : "", repeats);
  }

  function quantifier(): { min: number; max: number } | undefined {
    const times = QUANTIFIERS[characters[index] ?? ""];
    if (times === undefined) return characters[index] === "{" ? counted() : undefined;
    index += 1;
    return times;
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

  function single(): PatternSource {
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
        return part(dialect === "lines" ? "(?s:.)" : "[^\\n\\r\\x{2028}\\x{2029}]", 1);
      case "^":
        return anchor("\\A");
      case "$":
        return anchor("\\z");
      case "*":
      case "+":
      case "?":
        throw unusable(pattern, `"${character}" has nothing to repeat`, index - 1);
      default:
        return literal(pointOf(character));
    }
  }

  function group(): PatternSource {
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
    return part(`(?:${inside.source})`, inside.size, inside.required, inside.repeats);
  }

  function set(): PatternSource {
    const start = index - 1;
    const isNegated = characters[index] === "^";
    if (isNegated) index += 1;
    if (dialect === "text" && characters[index] === "]")
      throw unusable(pattern, "a set is empty; write [\\s\\S] for any character", start);
    const members: string[] = [];
    for (let isFirst = true; characters[index] !== "]" || isFirst; isFirst = false) {
      if (index >= characters.length) throw unusable(pattern, `a "[" is not closed`, start);
      const from = setMember();
      const isRange = characters[index] === "-" && index + 1 < characters.length && characters[index + 1] !== "]";
      if (isRange) index += 1;
      const to = isRange ? setMember() : from;
      if (typeof from === "number" && typeof to === "number") {
        if (from > to) throw unusable(pattern, "a range is out of order", index - 1);
        members.push(range(from, to));
      } else if (typeof from === "string" && !isRange) members.push(from);
      else throw unusable(pattern, "a range needs a character at both ends", index - 1);
    }
    index += 1;
    return part(`[${isNegated ? "^" : ""}${members.join("")}]`, 1);
  }

  function setMember(): Member | undefined {
    const character = characters[index] ?? "";
    index += 1;
    if (character !== "\\") return pointOf(character);
    if (characters[index] !== "b") return escapedMember();
    index += 1;
    return BACKSPACE;
  }

  function escaped(): PatternSource {
    const member = escapedMember();
    if (typeof member === "number") return literal(member);
    return member === undefined ? anchor(`\\${characters[index - 1]}`) : part(`[${member}]`, 1);
  }

  /** Undefined for an anchor. */
  function escapedMember(): Member | undefined {
    const character = characters[index] ?? "";
    index += 1;
    const known = CLASSES[character];
    if (known !== undefined) return known;
    switch (character) {
      case "b":
      case "B":
        return undefined;
      case "p":
      case "P":
        return property(character);
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
    if (control !== undefined) return pointOf(control);
    if (/[0-9]/.test(character)) throw unusable(pattern, "back-references are not supported", index - 1);
    if (/[A-Za-z]/.test(character)) throw unusable(pattern, `"\\${character}" has no meaning here`, index - 1);
    return pointOf(character);
  }

  function property(letter: "p" | "P"): string {
    const found = /^\{([A-Za-z_=]{1,60})\}/.exec(characters.slice(index, index + 62).join(""));
    const name = propertyName(found?.[1] ?? "");
    if (name === undefined)
      throw unusable(pattern, `"\\p" needs a property of Unicode such as {L} or {Script=Greek}`, index - 1);
    index += found?.[0].length ?? 0;
    return `\\${letter}{${name}}`;
  }

  function codePoint(kind: "x" | "u"): number {
    const rest = characters.slice(index, index + 9).join("");
    const found = (kind === "x" ? /^([0-9a-f]{2})/i : /^(?:\{([0-9a-f]{1,6})\}|([0-9a-f]{4}))/i).exec(rest);
    const point = Number.parseInt(found?.[1] ?? found?.[2] ?? "", 16);
    if (found === null || point > LAST_POINT)
      throw unusable(pattern, `"\\${kind}" needs the number of a character`, index - 1);
    index += found[0].length;
    return point;
  }
}

function part(source: string, size: number, required = "", repeats = 1): PatternSource {
  return { source, size, required, repeats, type: "other" };
}

function literal(point: number): PatternSource {
  const text = String.fromCodePoint(point);
  return { source: written(point), size: 1, required: text, repeats: 1, type: "literal" };
}

function anchor(source: string): PatternSource {
  return { source, size: 1, required: "", repeats: 1, type: "anchor" };
}

function inSequence(parts: readonly PatternSource[]): PatternSource {
  let required = "";
  let open = "";
  for (const each of parts) {
    open = each.type === "literal" ? open + each.required : "";
    for (const text of [open, each.required]) if (text.length > required.length) required = text;
  }
  const size = parts.reduce((sum, each) => sum + each.size, 0);
  return part(parts.map(({ source }) => source).join(""), size, required, repeatsIn(parts));
}

function repeatsIn(parts: readonly PatternSource[]): number {
  return parts.reduce((most, each) => Math.max(most, each.repeats), 1);
}

/** One instruction more says that it matches. */
function bounded(read: PatternSource): PatternSource {
  if (read.size < MAX_SIZE && read.repeats <= MAX_REPEAT) return read;
  throw new UnusablePattern("The pattern is too large. Use fewer or smaller repetitions.");
}

const QUANTIFIERS: Record<string, { min: number; max: number }> = {
  "*": { min: 0, max: Number.POSITIVE_INFINITY },
  "+": { min: 1, max: Number.POSITIVE_INFINITY },
  "?": { min: 0, max: 1 },
};
const CONTROLS: Record<string, string> = { t: "\t", n: "\n", r: "\r", f: "\f", v: "\v", 0: "\0" };
const BACKSPACE = 8;
const LAST_POINT = 0x10ffff;

function range(from: number, to: number): string {
  return from === to ? written(from) : `${written(from)}-${written(to)}`;
}

function written(point: number): string {
  return `\\x{${point.toString(16)}}`;
}

function pointOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

function unusable(pattern: string, what: string, index: number): UnusablePattern {
  return new UnusablePattern(
    `The pattern ${JSON.stringify(pattern)} cannot be used: ${what}, at character ${index + 1}.`,
  );
}
