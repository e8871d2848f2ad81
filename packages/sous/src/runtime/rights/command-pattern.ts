/** `git status*` in a rule for the terminal: which simple commands it stands for. */

import { isAnyName, isGlob, mayBecome } from "./open-words.ts";
import { programName } from "./programs.ts";
import { readShellCommand } from "./shell-command.ts";
import { closedWord, type ShellWord, WILDCARD } from "./shell-words.ts";
import { mayStartOthers, type Understood, type View } from "./understand-command.ts";

type CommandPattern = {
  /** True, for a rule that allows: the command is surely this one. */
  covers(command: Understood): boolean;
  /** True, for a rule that forbids or asks: the command, or what it starts, is perhaps this one. */
  touches(command: Understood): boolean;
};

/** The pattern, or the sentence that says what is wrong with it. */
export function compileCommandPattern(text: string, home?: string): CommandPattern | string {
  const { commands, problem } = readShellCommand(text, { isPattern: true, home });
  if (problem !== undefined) return `it must be one plain command, and ${problem.replaceAll(WILDCARD, "*")}`;
  const [command, more] = commands;
  if (command === undefined || more !== undefined) return "it must be one command: write one rule for each part";
  const pattern = withoutEnd(command.words);
  return {
    covers: ({ views, problem: why }) => why === undefined && coversCommand(pattern, views),
    touches: ({ views, linked }) =>
      [...views.map(({ words }) => words), ...linked].some((words) => mayBegin(pattern.words, words)) ||
      mayStart(pattern.words, views.at(-1), linked),
  };
}

type Pattern = { words: readonly ShellWord[]; takesFurtherWords: boolean };

/** `git status*` and `git status *` take further words; `npm run test:*` is one word whose end is free. */
function withoutEnd(words: readonly ShellWord[]): Pattern {
  const last = words.at(-1)?.text ?? "";
  const stem = last.slice(0, -1);
  if (!last.endsWith(WILDCARD) || !/^$|[\p{L}\p{N}]$/u.test(stem)) return { words, takesFurtherWords: false };
  const before = words.slice(0, -1);
  return { words: stem === "" ? before : [...before, closedWord(stem)], takesFurtherWords: true };
}

/** A program that only starts another one is allowed by what it starts, or word for word. */
function coversCommand(pattern: Pattern, views: readonly View[]): boolean {
  const [whole] = views;
  const last = views.at(-1);
  if (whole === undefined || last === undefined) return false;
  if (views.length === 1) return begins(pattern, whole.words);
  if (!pattern.takesFurtherWords && !pattern.words.some(hasWildcard) && begins(pattern, whole.words)) return true;
  if (last.finds !== "package") return begins(pattern, last.words);
  // A program that the project chooses is named together with its starter: `npx vitest*`, and neither `vitest*` nor `npx*`.
  const starter = views.at(-2);
  if (starter === undefined || starter.finds === "package") return false;
  const starterWords = starter.words.length - last.words.length;
  return pattern.words.length > starterWords && begins(pattern, starter.words);
}

function hasWildcard({ text }: ShellWord): boolean {
  return text.includes(WILDCARD);
}

function begins({ words: expected, takesFurtherWords }: Pattern, words: readonly ShellWord[]): boolean {
  if (takesFurtherWords ? words.length < expected.length : words.length !== expected.length) return false;
  return expected.every((each, index) => isSameWord(each, words[index]));
}

/** A wildcard matches neither another folder nor an option. */
function isSameWord(expected: ShellWord, word: ShellWord | undefined): boolean {
  if (word === undefined || word.isOpen || expected.isOpen) return false;
  if (!expected.text.includes(WILDCARD)) return expected.text === word.text;
  if (/(?:^|\/)\.\.(?:\/|$)/.test(word.text)) return false;
  if (expected.text.startsWith(WILDCARD) && word.text.startsWith("-")) return false;
  return standsFor(expected.text.split(WILDCARD), word.text, (between) => !between.includes("/"));
}

/** Options and their values between the words do not hide them: `git -C . push` is a push. An open word may be anything. */
function mayBegin(expected: readonly ShellWord[], words: readonly ShellWord[], start = 0): boolean {
  let at = start;
  for (const [index, wanted] of expected.entries()) {
    for (let isAfterOption = false; ; at++) {
      const word = words[at];
      if (word === undefined) return false;
      if (word.isOpen || wanted.isOpen) return true;
      if (index === 0 ? isProgram(wanted.text, word.text) : mayBeWord(wanted.text, word.text)) break;
      const isOption = word.text.startsWith("-");
      if (index === 0 || !(isOption || isAfterOption)) return false;
      isAfterOption = isOption;
    }
    at += 1;
  }
  return true;
}

/** A program that is not known may start what it is given: as further words, or as the text of one. */
function mayStart(
  expected: readonly ShellWord[],
  view: View | undefined,
  linked: readonly (readonly ShellWord[])[],
): boolean {
  if (view === undefined || expected.length === 0 || !mayStartOthers(view, linked)) return false;
  const rest = view.words.slice(1);
  return rest.some((word, index) => {
    if (word.isOpen) return mayBecomeProgram(word.text, expected[0]?.text ?? "");
    const texts = word.text.split(/[\s=,;:]+/).filter((text) => text !== "");
    const parts = texts.slice(0, MAX_PARTS).map(closedWord);
    return mayBegin(expected, rest, index) || parts.some((_, at) => mayBegin(expected, parts, at));
  });
}

/** `src/*` finds files of the project; links among them are followed elsewhere. */
function mayBecomeProgram(open: string, wanted: string): boolean {
  const isOfProject = isGlob(open) && /^[^/*?[]+\//.test(open) && !/(?:^|\/)\.?s?bin\/[^/]*$/.test(open);
  return !(isOfProject && isAnyName(open)) && mayBecome(open)(programName(wanted));
}

/** Max parts of one argument. */
const MAX_PARTS = 50;

/** Compares also by its name without a folder, and in any case: not every file system tells `RM` from `rm`. */
function isProgram(wanted: string, word: string): boolean {
  return mayBeWord(wanted.toLowerCase(), word.toLowerCase()) || mayBeWord(programName(wanted), programName(word));
}

function mayBeWord(wanted: string, word: string): boolean {
  return standsFor(wanted.split(WILDCARD), word, () => true);
}

/**
 * True when the fixed pieces stand in the text in this order, with only what `mayFill` allows between them.
 * `["a", "b"]` is what `a*b` stands for.
 */
function standsFor(pieces: readonly string[], text: string, mayFill: (between: string) => boolean): boolean {
  const [first = "", ...rest] = pieces;
  if (rest.length === 0) return text === first;
  if (!text.startsWith(first)) return false;
  const last = rest.pop() ?? "";
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found === -1 || !mayFill(text.slice(at, found))) return false;
    at = found + piece.length;
  }
  const end = text.length - last.length;
  return end >= at && text.endsWith(last) && mayFill(text.slice(at, end));
}
