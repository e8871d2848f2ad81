/** Code in plain sight: what tells that a word of a command, and the words behind it, start a program or run code. */

import { deedOf, optionProblem } from "./program-rows.ts";
import { countOptions, isGivenCode } from "./programs.ts";
import { CODE, COMMON_WORDS, RUNS, SUBCOMMANDS } from "./programs-table.ts";
import { closedWord, type ShellWord } from "./shell-words.ts";
import { isKnownModule } from "./wrappers.ts";

/** A word that may be a program, as it stands among the others. */
export type Candidate = {
  readonly word: ShellWord;
  readonly rest: readonly ShellWord[];
  /** It may be the value of an option of the program in front. */
  readonly isValue: boolean;
  /** Some word behind it may be code. */
  readonly hasCode: boolean;
};

type ProblemOf = (words: readonly ShellWord[]) => string | undefined;

/** Programs that are looked through elsewhere, and run code in one of their options. */
export const STARTERS: readonly string[] = "env npx npm pnpm yarn bun bunx pnpx uv uvx make gmake".split(" ");

/** Says what such a word runs as the program of this name; undefined when nothing tells that it is more than a word. */
export function givenProblem(name: string, candidate: Candidate, problemOf: ProblemOf): string | undefined {
  const { word, rest, isValue, hasCode } = candidate;
  if (isGivenCode(name, rest, isValue)) return `${name} ${CODE}`;
  const deed = deedOf(name);
  if (deed !== undefined && isGiven(name, deed, candidate)) return `${name} ${deed}`;
  const hasOption = deed !== undefined || STARTERS.includes(name);
  if (hasCode && hasOption && hasCodeOption(name, rest)) return `${name} ${deed ?? RUNS}`;
  const own = /^git-([a-z-]+)$/.exec(name)?.[1];
  const problem = name === "git" ? gitProblem(rest) : optionProblem(own === undefined ? name : `git.${own}`, rest);
  if (problem !== undefined) return `${name} ${problem}`;
  return mayTellByItself(name, candidate) ? problemOf([word.isOpen ? closedWord(name) : word, ...rest]) : undefined;
}

/** An editor, a console, `ssh` and the like. A word of English, and the value of an option, need better evidence. */
function isGiven(name: string, deed: string, { word, rest, isValue, hasCode }: Candidate): boolean {
  if (!hasCode) return false;
  const isWord = COMMON_WORDS.has(name) && !word.text.includes("/");
  if (!isWord && (!isValue || name.endsWith("awk"))) return true;
  const first = firstArgument(rest);
  return deed === CODE ? SHELL_CHARACTER.test(first.text) : !isValue && mayBeCode(first);
}

/** Shell characters, which are those of other code, too. */
const SHELL_CHARACTER = /[$`;|&<>(){}!\\]/;

export function mayBeCode({ text }: ShellWord): boolean {
  return /\s/.test(text) || SHELL_CHARACTER.test(text);
}

/** The first word that is neither an option nor perhaps the value of one, as in `less -P x +G`. */
function firstArgument(words: readonly ShellWord[]): ShellWord {
  for (let at = 0; at < words.length; at++) {
    const word = words[at];
    if (word !== undefined && !word.text.startsWith("-")) return word;
    if (/^(?:-[^-]|--[^=]+)$/.test(word?.text ?? "") && !words[at + 1]?.text.startsWith("-")) at += 1;
  }
  return closedWord("");
}

/** An option that many programs call so, with what looks like code in it or behind it. */
function hasCodeOption(name: string, words: readonly ShellWord[]): boolean {
  const pattern = name === "env" ? /^(?:-[a-z0-9]*S|--split-string=?)/ : CODE_OPTION;
  return words.some(({ text }, index) => {
    const option = pattern.exec(text)?.[0];
    if (option === undefined) return false;
    const inside = text.slice(option.length);
    return mayBeCode(inside === "" ? (words[index + 1] ?? closedWord("")) : closedWord(inside));
  });
}

const CODE_OPTION = /^(?:-i?ex$|--?(?:eval|exec|call|cmd|command)[\w-]*=?|-[A-Za-z0-9]{0,2}[ceE])/;

/** Reads what stands in front of the subcommand first: `git -C . -c alias.x='!ls' x`. */
function gitProblem(rest: readonly ShellWord[]): string | undefined {
  let at = 0;
  for (; rest[at]?.text.startsWith("-"); at++) {
    const { text = "" } = rest[at] ?? {};
    if (/^--(?:exec-path=|config-env)/.test(text)) return `runs what a setting says: ${text.slice(0, 60)}`;
    if (!/^(?:-[cC]|--(?:git-dir|work-tree|namespace|attr-source))$/.test(text)) continue;
    at += 1;
    if (text.endsWith("c") && rest[at]?.text.includes("=")) return "runs what a setting says: -c";
  }
  return optionProblem(`git.${rest[at]?.text}`, rest.slice(at + 1));
}

/** True when a word looks like code, and what the program does with it decides. */
function mayTellByItself(name: string, { rest, isValue, hasCode }: Candidate): boolean {
  // It makes a command of its input, which is in none of the words.
  if (name === "xargs") return rest.some(({ text }) => !text.startsWith("-"));
  const [first] = rest.slice(name === "git" ? countOptions(rest, SUBCOMMANDS.git ?? { options: /^$/ }) : 0);
  if (isValue || first === undefined || !hasCode) return false;
  switch (name) {
    case "git":
      return !first.text.startsWith("-");
    case "make":
    case "gmake":
      return rest.some((word) => /^\w+\W?=/.test(word.text) && mayBeCode(word));
    case "python":
    case "pypy": {
      const module = rest[rest.findIndex(({ text }) => text === "-m") + 1];
      return module !== first && !isKnownModule(module) && rest.some(({ text }) => SHELL_CHARACTER.test(text));
    }
    default:
      return name === "sed" || name === "gsed";
  }
}
