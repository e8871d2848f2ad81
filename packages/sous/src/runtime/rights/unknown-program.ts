/**
 * The programs that a program which is not known may start: any of its words may be one. Only what is hardly anything else
 * makes the command one that is not understood: `bash -c …` does, `brew install bash` does not.
 */

import { hasRow, optionProblem, takesCode } from "./program-rows.ts";
import { isGivenCode, isInterpreter, knownNames } from "./programs.ts";
import { SUBCOMMANDS } from "./programs-table.ts";
import { closedWord, type ShellWord } from "./shell-words.ts";

type Reading = {
  /** Says why a command is not understood; undefined when it is. */
  problemOf(words: readonly ShellWord[]): string | undefined;
  /** The names of the program that an existing link at this path leads to. */
  linkNames(path: string): readonly string[];
  /** Gets the words from each link on, with the name of its program in place of the link. */
  readonly linked: (readonly ShellWord[])[];
};

/** Max words that name a program of the tables: each of them is compared with all words behind it. */
const MAX_NAMED = 50;

/** Says why it is not known what a program that is not known starts with these words; undefined when it is. */
export function startedProblem(words: readonly ShellWord[], reading: Reading): string | undefined {
  let named = 0;
  for (const [index, word] of words.entries()) {
    const links = word.isOpen ? [] : reading.linkNames(word.text);
    const names = [...links, ...plainName(word)].flatMap(knownNames);
    const isProgram = names.length > 0 && words[index - 1]?.text === "--";
    const problem = isProgram ? reading.problemOf(words.slice(index)) : undefined;
    if (problem !== undefined) return problem;
    if (links.length === 0 && !names.some(isKnown)) continue;
    named += 1;
    if (named > MAX_NAMED) return `more than ${MAX_NAMED} of its words are names of programs`;
    const rest = words.slice(index + 1);
    reading.linked.push(...links.map((name) => [closedWord(name), ...rest]));
    const found = firstProblem(names, rest) ?? (isFilter(names, rest) ? reading.problemOf([word, ...rest]) : undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A name as it is typed, or the path of a file in a folder `bin`: a file of a project has an ending or another folder. */
const PLAIN = /^(?:(?:.*\/)?\.?s?bin\/)?\w[\w+-]*(?:\.\d+|\.exe)*$/i;

function plainName({ text, isOpen }: ShellWord): string[] {
  return !isOpen && PLAIN.test(text) ? [text] : [];
}

function isKnown(name: string): boolean {
  return hasRow(name) || isInterpreter(name) || Object.hasOwn(SUBCOMMANDS, name) || name === "xargs";
}

/** `xargs touch` makes a command of its input, which is in none of the words. */
function isFilter(names: readonly string[], [first]: readonly ShellWord[]): boolean {
  return names.includes("xargs") && first !== undefined && !first.text.startsWith("--");
}

function firstProblem(names: readonly string[], rest: readonly ShellWord[]): string | undefined {
  for (const name of names) {
    if (isGivenCode(name, rest) || (takesCode(name) && SHELL_CHARACTER.test(firstArgument(rest))))
      return `${name} runs code that it is given`;
    const [first, ...own] = rest;
    if (name === "git" && first?.text === "-c" && own[0]?.text.includes("=")) return "git runs what a setting says: -c";
    const problem = optionProblem(name, rest) ?? optionProblem(`${name}.${first?.text}`, own);
    if (problem !== undefined) return `${name} ${problem}`;
  }
  return undefined;
}

const SHELL_CHARACTER = /[$`;|&<>(){}!\\]/;

/** The first word that is neither an option nor perhaps the value of one, as in `awk -F , '{print $2}'`. */
function firstArgument(words: readonly ShellWord[]): string {
  for (let at = 0; at < words.length; at++) {
    const text = words[at]?.text ?? "";
    if (!text.startsWith("-")) return text;
    if (/^(?:-[^-]|--[^=]+)$/.test(text) && !words[at + 1]?.text.startsWith("-")) at += 1;
  }
  return "";
}
