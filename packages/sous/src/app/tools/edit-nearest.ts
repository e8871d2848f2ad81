/** Describes the lines most similar to a text that was not found, so that the next attempt can be exact. */

import { spaceAtEnd } from "../../core/truncate.ts";
import { truncateLine } from "./line-scan.ts";

const MAX_EXCERPTS = 3;
const MAX_SHOWN_LINES = 12;
const MAX_LINE_BYTES = 300;
/** Max lines of a file that is compared, and max length of each: enough to find the lines, and soon done. */
const MAX_LINES = 50_000;
const MAX_COMPARED = 200;
/** The share of common pairs of letters from which a line is called near. */
const NEAR = 0.6;

/** One sentence, and the lines of the file that are most alike. Both texts have plain line breaks. */
export function describeNearest(text: string, sought: string): string {
  const lines = text.split("\n", MAX_LINES);
  const wanted = sought.split("\n");
  const filled = wanted.filter((line) => line !== "");
  if (filled.length > 0 && filled.every((line) => /^\d+\t/.test(line))) {
    return "It begins with line numbers: leave out the number and the tab that read_file puts before each line.";
  }
  const alike = sameButSpace(lines, wanted);
  if (alike.length > 0) {
    const shown = alike.slice(0, MAX_EXCERPTS).map((first) => shownLines(lines, first, wanted.length));
    return `It differs from these lines only in white space${spaceDifference(lines, wanted, alike[0] ?? 0)}:\n${shown.join("\n…\n")}`;
  }
  const near = nearest(lines, wanted);
  if (near.length === 0) return "Nothing in the file is like it. Read the file again.";
  const shown = near.map((first) => shownLines(lines, first, wanted.length));
  return `The most similar lines are:\n${shown.join("\n…\n")}`;
}

/** The first line of each match, if runs of white space did not count. */
function sameButSpace(lines: readonly string[], wanted: readonly string[]): number[] {
  const plain = lines.map(withoutSpace);
  const sought = wanted.map(withoutSpace);
  // Empty lines at the ends of what is sought are line breaks, not lines.
  const from = sought.findIndex((line) => line !== "");
  if (from === -1) return [];
  const to = sought.findLastIndex((line) => line !== "");
  return occurrencesIn(plain, sought.slice(from, to + 1), MAX_EXCERPTS + from)
    .filter((at) => at >= from)
    .map((at) => at - from)
    .slice(0, MAX_EXCERPTS);
}

function withoutSpace(line: string): string {
  return line.replace(/\s+/g, "");
}

/** Names the first difference in white space. */
function spaceDifference(lines: readonly string[], wanted: readonly string[], first: number): string {
  for (const [index, line] of wanted.entries()) {
    const found = lines[first + index] ?? "";
    if (found === line) continue;
    const [there, given] = [/^\s*/.exec(found)?.[0] ?? "", /^\s*/.exec(line)?.[0] ?? ""];
    if (there !== given) {
      return `: line ${first + index + 1} begins with ${spaceName(there)}, the old text with ${spaceName(given)}`;
    }
    const [after, givenAfter] = [spaceAtEnd(found), spaceAtEnd(line)];
    if (after !== givenAfter) {
      return `: line ${first + index + 1} ends with ${spaceName(after)}, the old text with ${spaceName(givenAfter)}`;
    }
    return `: inside line ${first + index + 1}`;
  }
  return "";
}

function spaceName(space: string): string {
  if (space === "") return "none";
  const tabs = space.split("\t").length - 1;
  const spaces = space.split(" ").length - 1;
  const others = space.length - tabs - spaces;
  return [count(tabs, "tab"), count(spaces, "space"), count(others, "other blank")].filter(Boolean).join(" and ");
}

function count(number: number, name: string): string {
  return number === 0 ? "" : `${number} ${name}${number === 1 ? "" : "s"}`;
}

/** Looks for lines similar to the longest line sought, and counts back to the first. */
function nearest(lines: readonly string[], wanted: readonly string[]): number[] {
  const anchor = wanted.reduce((best, line, index) => {
    return line.trim().length > (wanted[best] ?? "").trim().length ? index : best;
  }, 0);
  const pairs = pairsOf(wanted[anchor] ?? "");
  if (pairs.size === 0) return [];
  const scored: { first: number; likeness: number }[] = [];
  for (const [index, line] of lines.entries()) {
    const likeness = likenessOf(pairs, pairsOf(line));
    if (likeness >= NEAR) scored.push({ first: Math.max(0, index - anchor), likeness });
  }
  const best = scored.sort((a, b) => b.likeness - a.likeness || a.first - b.first).slice(0, MAX_EXCERPTS);
  return best.map(({ first }) => first).sort((a, b) => a - b);
}

function pairsOf(line: string): Set<string> {
  const plain = line.trim().slice(0, MAX_COMPARED);
  const pairs = new Set<string>();
  for (let index = 0; index + 1 < plain.length; index++) pairs.add(plain.slice(index, index + 2));
  return pairs;
}

/** The share of pairs that both have: 1 for the same, 0 for nothing in common. */
function likenessOf(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (b.size === 0 || b.size > a.size * 3 || a.size > b.size * 3) return 0;
  let common = 0;
  for (const pair of b) if (a.has(pair)) common += 1;
  return (2 * common) / (a.size + b.size);
}

/** Shows lines as read_file does. */
function shownLines(lines: readonly string[], first: number, count: number): string {
  const shown = lines.slice(first, first + Math.min(count, MAX_SHOWN_LINES));
  return shown.map((line, index) => `${first + index + 1}\t${truncateLine(line, MAX_LINE_BYTES)}`).join("\n");
}

/** Up to this length `indexOf` is faster, and what it repeats is bounded. */
const SHORT = 64;

/** The offsets at which `sought` begins in `text`, in order; occurrences may overlap. An empty text occurs nowhere. */
export function occurrencesOf(text: string, sought: string): number[] {
  if (sought === "" || sought.length > text.length) return [];
  if (sought.length > SHORT) return occurrencesIn(text, sought);
  const found: number[] = [];
  for (let at = text.indexOf(sought); at !== -1; at = text.indexOf(sought, at + 1)) found.push(at);
  return found;
}

/** The same for the characters of a text or for lines. Looks at each once (Knuth, Morris, Pratt). */
function occurrencesIn(text: ArrayLike<string>, sought: ArrayLike<string>, max: number = text.length): number[] {
  const borders = bordersOf(sought);
  const found: number[] = [];
  for (let at = 0, matched = 0; at < text.length && found.length < max; at++) {
    while (matched >= 0 && sought[matched] !== text[at]) matched = borders[matched] ?? -1;
    matched += 1;
    if (matched === sought.length) found.push(at - matched + 1);
  }
  return found;
}

/** borders[n]: how many of the first n elements are also the last of those n. */
function bordersOf(sought: ArrayLike<string>): Int32Array {
  const borders = new Int32Array(sought.length + 1).fill(-1, 0, 1);
  for (let at = 0, border = -1; at < sought.length; at++) {
    while (border >= 0 && sought[border] !== sought[at]) border = borders[border] ?? -1;
    border += 1;
    borders[at + 1] = border;
  }
  return borders;
}
