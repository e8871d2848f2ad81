/** Tells which scripts of sed only print, delete and replace. The commands `e` and `w` of sed, and the flag `e`, do more. */

import { mayBeOption, type ShellWord } from "./shell-words.ts";

/** The sed of this system takes the word behind a bare `-i` for an ending. */
const HAS_OTHER_SED = process.platform === "darwin";
const MAX_SCRIPT = 2000;

/** Says why a call of sed is not understood; undefined when it is. */
export function scriptProblem(rest: readonly ShellWord[]): string | undefined {
  if (rest.length === 1 && /^--(?:version|help)$/.test(rest[0]?.text ?? "")) return undefined;
  let hasScript = false;
  for (let at = 0; at < rest.length; at++) {
    const { text, isOpen } = rest[at] ?? { text: "", isOpen: true };
    const isOption = text.startsWith("-") && text !== "-";
    if (isOption && text === "-e") {
      hasScript = true;
      at += 1;
      if (!isHarmless(rest[at])) return "may run or write with its script";
    } else if (isOption && !isKnownOption(text)) {
      return `has an option that is not known: ${text.slice(0, 60)}`;
    } else if (!isOption && !hasScript) {
      hasScript = true;
      if (!isHarmless(rest[at])) return "may run or write with its script";
    } else if (mayBeOption({ text, isOpen })) return "may get an option from a glob";
  }
  return undefined;
}

function isKnownOption(text: string): boolean {
  if (HAS_OTHER_SED && text.endsWith("i")) return false;
  return /^-(?:[nErsz]+|[nErsz]*i(?:\.\w+)?|-quiet|-silent|-regexp-extended)$/.test(text);
}

/** Commands with `;` between them, each of which prints, deletes or replaces. */
function isHarmless(word: ShellWord | undefined): boolean {
  if (word === undefined || word.isOpen || word.text.length > MAX_SCRIPT || word.text.includes("\n")) return false;
  let rest: string | undefined = word.text.trim();
  while (rest !== undefined && rest !== "") rest = behindCommand(rest);
  return rest === "";
}

/** The text behind the first command; undefined when that command may do more. */
function behindCommand(text: string): string | undefined {
  const script = behindLines(text);
  const [letter = "", mark = ""] = script;
  const end = letter === "s" ? behindReplacement(script, mark) : /[pdqnNDPGgHhx=]/.test(letter) ? 1 : undefined;
  if (end === undefined) return undefined;
  const rest = script.slice(end).trimStart();
  return rest === "" ? "" : rest.startsWith(";") ? rest.slice(1).trimStart() : undefined;
}

/** Skips the lines that are named, if any are: by number or by a pattern, one or from one to another. */
function behindLines(text: string): string {
  const first = behindLine(text);
  if (first === undefined) return text;
  const second = first.startsWith(",") ? (behindLine(first.slice(1)) ?? first) : first;
  return (second.startsWith("!") ? second.slice(1) : second).trimStart();
}

/** Undefined when no line is named. */
function behindLine(text: string): string | undefined {
  if (text.startsWith("/")) {
    const end = behindPattern(text, 1, "/");
    return end === undefined ? undefined : text.slice(end);
  }
  const number = /^(?:\$|[+~]?\d+)/.exec(text)?.[0];
  return number === undefined ? undefined : text.slice(number.length);
}

/** The position behind the next mark without a backslash before it. */
function behindMark(text: string, start: number, mark: string): number | undefined {
  for (let at = start; at < text.length; at += text[at] === "\\" ? 2 : 1) if (text[at] === mark) return at + 1;
  return undefined;
}

/** The same for a pattern. Inside of `[…]` the mark is a character to some and the end to others: then it is unknown. */
function behindPattern(text: string, start: number, mark: string): number | undefined {
  for (let at = start; at < text.length; ) {
    if (text[at] === mark) return at + 1;
    const end = text[at] === "[" ? behindSet(text, at) : at + (text[at] === "\\" ? 2 : 1);
    if (end === undefined || text.slice(at, end).includes(mark)) return undefined;
    at = end;
  }
  return undefined;
}

/** The position behind the `]` of a set. A `]` at its start, and classes such as `[:alpha:]`, do not end it. */
function behindSet(text: string, start: number): number | undefined {
  let at = start + (text[start + 1] === "^" ? 2 : 1);
  if (text[at] === "]") at += 1;
  for (; at < text.length; at++) {
    if (text[at] === "]") return at + 1;
    const kind = text[at] === "[" ? text[at + 1] : undefined;
    if (kind === undefined || !":.=".includes(kind)) continue;
    const end = text.indexOf(`${kind}]`, at + 2);
    if (end === -1) return undefined;
    at = end + 1;
  }
  return undefined;
}

/** `s/a/b/g` with any mark instead of `/`. Its flags `e` and `w` do more than replace. */
function behindReplacement(text: string, mark: string): number | undefined {
  if (mark === "" || /[\\\w\s;]/.test(mark)) return undefined;
  const middle = behindPattern(text, 2, mark);
  const end = middle === undefined ? undefined : behindMark(text, middle, mark);
  return end === undefined ? undefined : end + (/^[gpiI\d]*/.exec(text.slice(end))?.[0].length ?? 0);
}
