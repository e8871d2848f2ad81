/** Texts and paths with `*`, `?` and `**` in them. Matching takes time in proportion to pattern × text, whatever both are. */

import { ToolFailure } from "./errors.ts";

export type GlobPattern = {
  matches(path: string): boolean;
  /** False when nothing below this folder can match, so a walk need not enter it. */
  mayMatchBelow(folder: string): boolean;
};

/**
 * `*` and `?` stay within a name, `**` spans folders, `[a-z]` `[!a-z]` and `{a,b}` choose, `\` quotes. Hidden names are
 * names like others. A pattern without a slash matches names at any depth.
 */
export function compileGlob(pattern: string): GlobPattern {
  const written = pattern.replace(/^(\.?\/)+/, "");
  if (written === "" || written.split("/").includes("..")) {
    throw new ToolFailure(`"${pattern}" is not a pattern inside the workspace. Try **/*.ts or src/**.`);
  }
  const choices = expandBraces(written).map((each) => compileSegments(each.includes("/") ? each : `**/${each}`));
  if (choices.reduce((sum, segments) => sum + sizeOf(segments), 0) > MAX_SIZE)
    throw new ToolFailure("The pattern is too large with all choices of its braces. Use a shorter one.");
  return {
    matches: (path) => {
      const names = pathNames(path);
      return choices.some((segments) => matchesPath(segments, names));
    },
    mayMatchBelow: (folder) => {
      const names = folder === "." ? [] : pathNames(folder);
      return choices.some((segments) => mayStart(segments, names));
    },
  };
}

const MAX_CHOICES = 256;
/** Max size of all choices together: a path is compared with each of them. */
const MAX_SIZE = 8192;

/** The size of a compiled pattern: the time to compare a path with it grows with this. */
export function sizeOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, segment) => sum + (segment === "**" ? 1 : segment.length), 0);
}

/** `a{b,c}` → `ab`, `ac`; braces nest. A brace without a comma or an end is an ordinary character. */
function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (open.length + done.length > MAX_CHOICES) {
      throw new ToolFailure(`The braces of the pattern stand for more than ${MAX_CHOICES} patterns. Use fewer.`);
    }
    const brace = firstBrace(next);
    if (brace === undefined) {
      done.push(next);
      continue;
    }
    for (const choice of brace.choices.toReversed()) open.push(brace.before + choice + brace.after);
  }
  return done;
}

function firstBrace(pattern: string): { before: string; choices: string[]; after: string } | undefined {
  for (let start = pattern.indexOf("{"); start !== -1; start = pattern.indexOf("{", start + 1)) {
    if (isQuoted(pattern, start)) continue;
    const choices: string[] = [];
    let from = start + 1;
    let depth = 1;
    for (let index = from; index < pattern.length; index++) {
      const character = pattern[index];
      if (character === "\\") index += 1;
      else if (character === "{") depth += 1;
      else if (character === "," && depth === 1) {
        choices.push(pattern.slice(from, index));
        from = index + 1;
      } else if (character === "}" && --depth === 0) {
        if (choices.length === 0) break;
        choices.push(pattern.slice(from, index));
        return { before: pattern.slice(0, start), choices, after: pattern.slice(index + 1) };
      }
    }
  }
  return undefined;
}

function isQuoted(pattern: string, index: number): boolean {
  let slashes = 0;
  while (pattern[index - 1 - slashes] === "\\") slashes += 1;
  return slashes % 2 === 1;
}

/** One position in a name: any number of characters, or one that passes the test. */
type NamePart = "star" | ((character: string) => boolean);

/** `**`, or what one name must look like. */
export type Segment = "**" | readonly NamePart[];

/** One pattern without braces, as in .gitignore. */
export function compileSegments(pattern: string): Segment[] {
  const names = pattern.split("/").filter((name) => name !== "");
  // A pattern that ends in `**` means everything below, not the folder itself.
  if (names.at(-1) === "**") names.push("*");
  return names.map((name) => (name === "**" ? "**" : compileName(name)));
}

/** The characters of one name. */
type Name = readonly string[];

/** Taken apart once: a path is compared with thousands of rules. */
export function pathNames(path: string): Name[] {
  return path.split("/").map((name) => [...name]);
}

export function matchesPath(segments: readonly Segment[], names: readonly Name[]): boolean {
  return matchesItems<Segment, Name>(
    segments,
    names,
    "**",
    (segment, name) => segment !== "**" && matchesName(segment, name),
  );
}

/** False when nothing below the folder can match. */
export function mayStart(segments: readonly Segment[], names: readonly Name[]): boolean {
  for (const [index, name] of names.entries()) {
    const segment = segments[index];
    if (segment === "**") return true;
    if (segment === undefined || !matchesName(segment, name)) return false;
  }
  return segments.length > names.length;
}

function compileName(name: string): NamePart[] {
  const characters = [...name];
  const parts: NamePart[] = [];
  let isUnclosed = false;
  for (let index = 0; index < characters.length; index++) {
    const character = characters[index] ?? "";
    const set = character === "[" && !isUnclosed ? compileSet(characters, index) : undefined;
    // Brackets behind one that never closes are ordinary too: the rest was looked through once.
    if (character === "[" && set === undefined) isUnclosed = true;
    if (set !== undefined) {
      parts.push(set.has);
      index = set.end;
    } else if (character === "*") {
      if (parts.at(-1) !== "star") parts.push("star");
    } else if (character === "?") {
      parts.push(anyCharacter);
    } else {
      parts.push(literal(character === "\\" ? (characters[++index] ?? "\\") : character));
    }
  }
  return parts;
}

/** `[abc]`, `[a-z]`, `[!a]` or `[^a]`; undefined when the bracket never closes, for then it is an ordinary character. */
function compileSet(
  characters: readonly string[],
  start: number,
): { has: (character: string) => boolean; end: number } | undefined {
  const isNegated = characters[start + 1] === "!" || characters[start + 1] === "^";
  const first = start + (isNegated ? 2 : 1);
  const ranges: [from: string, to: string][] = [];
  for (let index = first; index < characters.length; index++) {
    let from = characters[index] ?? "";
    if (from === "]" && index > first) {
      const isIn = testOf(ranges);
      return { has: (found) => isIn(found) !== isNegated, end: index };
    }
    if (from === "\\") from = characters[++index] ?? "\\";
    const isRange = characters[index + 1] === "-" && characters[index + 2] !== "]" && index + 2 < characters.length;
    ranges.push([from, isRange ? (characters[index + 2] ?? from) : from]);
    if (isRange) index += 2;
  }
  return undefined;
}

/** Single characters are looked up; ranges that touch are joined, so that few are left. */
function testOf(ranges: readonly [from: string, to: string][]): (character: string) => boolean {
  const singles = new Set(ranges.filter(([from, to]) => from === to).map(([from]) => from));
  const joined: [from: string, to: string][] = [];
  const wide = ranges.filter(([from, to]) => from < to).toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [from, to] of wide) {
    const last = joined.at(-1);
    if (last === undefined || last[1] < from) joined.push([from, to]);
    else if (last[1] < to) last[1] = to;
  }
  return (character) => singles.has(character) || joined.some(([from, to]) => from <= character && character <= to);
}

function matchesName(parts: readonly NamePart[], characters: Name): boolean {
  return matchesItems<NamePart, string>(
    parts,
    characters,
    "star",
    (part, character) => part !== "star" && part(character),
  );
}

/** Lets the last star seen take one item more whenever the rest does not fit: no other choice can do better. */
function matchesItems<Pattern, Item>(
  patterns: readonly Pattern[],
  items: readonly Item[],
  star: Pattern,
  fits: (pattern: Pattern, item: Item) => boolean,
): boolean {
  let at = 0;
  let index = 0;
  let lastStar = -1;
  let starEnd = 0;
  for (let item = items[0]; item !== undefined; item = items[index]) {
    const expected = patterns[at];
    if (expected === star) {
      lastStar = at++;
      starEnd = index;
    } else if (expected !== undefined && fits(expected, item)) {
      at += 1;
      index += 1;
    } else if (lastStar === -1) return false;
    else {
      index = ++starEnd;
      at = lastStar + 1;
    }
  }
  while (patterns[at] === star) at += 1;
  return at === patterns.length;
}

/** `*` stands for any text and `?` for one character; everything else is literal. */
export function matchesGlob(pattern: string, text: string): boolean {
  return matchesName(wildcardName(pattern), [...text]);
}

/** A path pattern in which only `*`, `**` and `?` have a meaning, by its names. */
export function wildcardSegments(names: readonly string[]): Segment[] {
  return names.map((name) => (name === "**" ? name : wildcardName(name)));
}

function wildcardName(text: string): NamePart[] {
  return [...text].map((character) =>
    character === "*" ? "star" : character === "?" ? anyCharacter : literal(character),
  );
}

function anyCharacter(): boolean {
  return true;
}

function literal(expected: string): NamePart {
  return (found) => found === expected;
}
