/** `git status*` in a rule for the terminal: which commands it surely stands for, and which it might. */

import { isRunner, isShellOnInput, programName, takesMore } from "./runners.ts";
import { readShellCommand, type ShellReading, WILDCARD } from "./shell-command.ts";
import { HOLE, readSuspects } from "./suspect-command.ts";
import { mayStandFor, standsFor } from "./wildcard.ts";

export type CommandPattern = {
  /** For a rule that allows: one part of a command that was read strictly. */
  covers(words: readonly string[]): boolean;
  /** For a rule that forbids or asks: any program the command might start. */
  touches(text: string, reading: ShellReading): boolean;
};

/** The pattern, or the sentence that says what is wrong with it. */
export function compileCommandPattern(text: string): CommandPattern | string {
  const reading = readShellCommand(text, { isPattern: true });
  if (!reading.isPlain) return `it must be one plain command, and ${reading.problem.replaceAll(WILDCARD, "*")}`;
  const [words, more] = reading.parts;
  if (words === undefined || more !== undefined) return "it must be one command: write one rule for each part";
  const pattern = withoutEnd(words);
  return {
    covers: (part) => (isRunner(part) ? isSame(pattern.words, part) : begins(pattern, part)),
    touches: (command, strict) => {
      const parts = strict.isPlain ? strict.parts : readSuspects(command);
      if (parts === undefined || pattern.words.length === 0) return true;
      return parts.some((part) => mayStart(pattern.words, part, 0));
    },
  };
}

type Words = { words: readonly string[]; takesFurtherWords: boolean };

/** `git status*` and `git status *` take further words; `npm run test:*` is one word whose end is free. */
function withoutEnd(words: readonly string[]): Words {
  const last = words.at(-1) ?? "";
  const stem = last.slice(0, -1);
  if (!last.endsWith(WILDCARD) || !/^$|[\p{L}\p{N}]$/u.test(stem)) return { words, takesFurtherWords: false };
  return { words: stem === "" ? words.slice(0, -1) : [...words.slice(0, -1), stem], takesFurtherWords: true };
}

function isSame(words: readonly string[], part: readonly string[]): boolean {
  return words.length === part.length && words.every((word, index) => word === part[index]);
}

function begins({ words, takesFurtherWords }: Words, part: readonly string[]): boolean {
  if (takesFurtherWords ? part.length < words.length : part.length !== words.length) return false;
  return words.every((word, index) => isSameWord(word, part[index] ?? ""));
}

/** A free place in a word is not a way into another folder, nor room for an option. */
function isSameWord(expected: string, word: string): boolean {
  if (!expected.includes(WILDCARD)) return expected === word;
  if (/(?:^|\/)\.\.(?:\/|$)/.test(word) || (expected.startsWith(WILDCARD) && word.startsWith("-"))) return false;
  return standsFor(expected.split(WILDCARD), word, (between) => !between.includes("/"));
}

const MAX_LEVELS = 3;

/** Looks through programs that start others. Too many of them inside each other count as a hit. */
function mayStart(expected: readonly string[], part: readonly string[], level: number): boolean {
  if (level > MAX_LEVELS) return true;
  if (mayBegin(expected, part, 0)) return true;
  const [program = ""] = part;
  if (isShellOnInput(part)) return true;
  if (!isRunner(part) && !program.includes(HOLE)) return false;
  const words = takesMore(program) ? [...part, HOLE] : part;
  return words.some((word, index) => {
    if (index === 0) return false;
    if (mayBegin(expected, words, index)) return true;
    if (!/[\s;&|`$(<>]/.test(word)) return false;
    const inner = readSuspects(word);
    return inner === undefined || inner.some((each) => mayStart(expected, each, level + 1));
  });
}

/** Options and their values between the words do not hide them: `git -C . push` is a push. */
function mayBegin(expected: readonly string[], words: readonly string[], from: number): boolean {
  let at = from;
  for (const [index, wanted] of expected.entries()) {
    for (let isAfterOption = false; ; at++) {
      const word = words[at];
      if (word === undefined) return false;
      if (word.includes(HOLE)) {
        return isAfterOption || word.startsWith("-") || mayBecome(word, expected.slice(index), index === 0);
      }
      if (index === 0 ? isProgram(wanted, word) : mayBeWord(wanted, word)) break;
      const isOption = word.startsWith("-");
      if (index === 0 || !(isOption || isAfterOption)) return false;
      isAfterOption = isOption;
    }
    at += 1;
  }
  return true;
}

/** By its name alone too, and however it is spelled: not every file system tells `RM` from `rm`. */
function isProgram(wanted: string, word: string): boolean {
  return mayBeWord(wanted.toLowerCase(), word.toLowerCase()) || mayBeWord(wanted.toLowerCase(), programName(word));
}

function mayBeWord(wanted: string, word: string): boolean {
  return standsFor(wanted.split(WILDCARD), word, () => true);
}

/** What fills the hole may hold blanks, so the rest of the pattern is compared as one text. */
function mayBecome(word: string, rest: readonly string[], isProgramWord: boolean): boolean {
  // Nobody knows in which folder it ends up.
  if (isProgramWord && word.includes("/")) return true;
  return mayStandFor(rest.join(" ").toLowerCase(), WILDCARD, word.slice(0, word.indexOf(HOLE)).toLowerCase());
}
