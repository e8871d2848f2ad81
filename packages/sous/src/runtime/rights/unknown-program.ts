/**
 * The programs that a program which is not known may start: any of its words may be one. Only what is hardly anything else
 * makes the command one that is not understood: `bash -c …` does, `brew install bash` does not.
 */

import { trimEndOf } from "../../core/truncate.ts";
import { isAnyName, isGlob, lastName, mayBecome } from "./open-words.ts";
import { type Candidate, givenProblem, mayBeCode, STARTERS } from "./plain-sight.ts";
import { ROW_NAMES } from "./program-rows.ts";
import { INTERPRETER_NAMES, isInterpreter, knownNames } from "./programs.ts";
import { SUBCOMMANDS } from "./programs-table.ts";
import { closedWord, type ShellWord } from "./shell-words.ts";

type Reading = {
  /** Says why a command is not understood; undefined when it is. */
  problemOf(words: readonly ShellWord[]): string | undefined;
  /** The names of the program that an existing link leads to; undefined when it is not known which file the word means. */
  linkNames(word: ShellWord): readonly string[] | undefined;
  /** The absolute path in its shortest spelling, from each folder where the shell may be. */
  fullPaths(path: string): readonly string[];
  /** Gets the words from each link on, with the name of its program in place of the link. */
  readonly linked: (readonly ShellWord[])[];
};

/** Max words that name a program of the tables: each of them is compared with all words behind it. */
const MAX_NAMED = 50;

/** The values of these are texts for people: `gh label create ssh --description "about keys"`. */
const PROSE = /^--(?:body|comment|description|filter|message|notes|query|title)$/;

/** Says why it is not known what a program that is not known starts with these words; undefined when it is. */
export function startedProblem(words: readonly ShellWord[], reading: Reading): string | undefined {
  let named = 0;
  const lastCode = words.findLastIndex((word, index) => mayBeCode(word) && !PROSE.test(words[index - 1]?.text ?? ""));
  for (const [index, word] of words.entries()) {
    const links = word.text.startsWith("-") ? [] : reading.linkNames(word);
    if (links === undefined) return `which file ${word.text} is, is not known`;
    const names = [...links, ...plainNames(word, reading)].flatMap(knownNames);
    const before = words[index - 1]?.text ?? "";
    const rest = words.slice(index + 1);
    const problem = before === "--" && names.length > 0 ? problemBehindDashes(word, rest, reading) : undefined;
    if (problem !== undefined) return problem;
    const isProgram = links.length > 0 || (names.some(isKnown) && !(isAnyName(word.text) && !word.text.includes("/")));
    if (!isProgram) continue;
    named += 1;
    if (named > MAX_NAMED) return `more than ${MAX_NAMED} of its words are names of programs`;
    reading.linked.push(...links.map((name) => [closedWord(name), ...rest]));
    const isValue = /^-[^=]+$/.test(before) && before !== "--";
    const candidate: Candidate = { word, rest, isValue, hasCode: lastCode > index };
    for (const name of new Set(names)) {
      const found = givenProblem(name, candidate, reading.problemOf);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function problemBehindDashes(word: ShellWord, rest: readonly ShellWord[], reading: Reading): string | undefined {
  return word.isOpen ? "a program is known only when it runs" : reading.problemOf([word, ...rest]);
}

/** A name as it is typed: a file of a project has an ending, and a program at most a version or what systems add. */
const NAME = /^\.?\w[\w+-]*(?:\.(?:exe|basic|tiny|nox|gtk3?|static|distrib|real))*(?:\.\d[\w.+-]*)?$/i;
/** Folders of programs. */
const FOLDER = /^\/(?:usr|etc|opt|nix|bin|sbin)\/|(?:^|\/)\.?s?bin\/[^/]+$/;

/** The names of the program that a word may be by its text: a path in another folder is a file of a project. */
function plainNames(word: ShellWord, reading: Reading): readonly string[] {
  const { text, isOpen } = word;
  // A path that stays in the workspace is one of the project, wherever the workspace is.
  const isOutside = text.startsWith("/") || text.includes("..");
  const isPlace = !text.includes("/") || isInFolder(text) || (isOutside && reading.fullPaths(text).some(isInFolder));
  if (!isPlace) return [];
  const name = lastName(text);
  if (!isOpen) return NAME.test(name) ? [name] : [];
  // `/usr/*/python3` has a name, and `python3.*` one with any version.
  const fixed = /^[^*?[]*?(?=\.?[*?[]|$)/.exec(name)?.[0] ?? "";
  const hasName = isGlob(text) && (fixed === name || /\d$/.test(fixed));
  const found = [text, trimEndOf(text, "0123456789.")].flatMap((open) => PROGRAMS.filter(mayBecome(open)));
  return [...new Set(found), ...(hasName && NAME.test(fixed) ? [fixed] : [])];
}

function isInFolder(path: string): boolean {
  const folder = path.slice(0, path.lastIndexOf("/"));
  return FOLDER.test(path) || (isGlob(folder) && (path.startsWith("/") || mayBecome(folder)("bin")));
}

const PROGRAMS = [...ROW_NAMES, ...INTERPRETER_NAMES, ...STARTERS, ...Object.keys(SUBCOMMANDS), "xargs", "sed", "gsed"];

const KNOWN: ReadonlySet<string> = new Set(PROGRAMS);

function isKnown(name: string): boolean {
  return KNOWN.has(name) || isInterpreter(name) || name.startsWith("git-");
}
