/** From the words of a simple command to the programs it starts, or to the reason why that is not known. */

import { builtinProblem, isBuiltin, mayBeOption } from "./builtins.ts";
import { codeProblem } from "./interpreters.ts";
import { knownNames } from "./program-name.ts";
import { PROGRAM_ROWS, type ProgramRow, SUBCOMMANDS, type Subcommands } from "./programs-table.ts";
import { scriptProblem } from "./sed-script.ts";
import { isProgram, type SimpleCommand } from "./shell-command.ts";
import type { ShellWord } from "./shell-words.ts";
import { unwrap, type Wrapped } from "./wrappers.ts";

/** The same command, looked at from outside or through the programs that start it. */
export type View = {
  readonly words: readonly ShellWord[];
  /** `itself` is as it was written; the others are what stands behind a program that only starts another one. */
  readonly finds: "itself" | Wrapped["finds"];
};

export type Understood = {
  /** The command as it was written first; the last one is what runs in the end. */
  readonly views: readonly View[];
  /** Why it is not known what it does; undefined when it is. */
  readonly problem: string | undefined;
};

/** Variables that change what a program says or how it looks, not what it starts. */
export const INERT_VARIABLES: readonly string[] = (
  "CI NODE_ENV DEBUG NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES PORT HOST TZ LANG LANGUAGE LC_ALL LC_CTYPE LC_MESSAGES " +
  "LC_NUMERIC LC_TIME LC_COLLATE LOG_LEVEL VERBOSE RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR PYTHONUNBUFFERED " +
  "PYTHONDONTWRITEBYTECODE GOOS GOARCH TERM SOURCE_DATE_EPOCH"
).split(" ");

const MAX_LEVELS = 4;

export function understand({ assignments, words }: SimpleCommand, variables: ReadonlySet<string>): Understood {
  const views: View[] = [];
  const set = assignments.find((name) => !variables.has(name));
  const problem = look(words, "itself", views, variables);
  return { views, problem: set === undefined ? problem : `it sets the variable ${set}` };
}

/** Looks at a command and through it. The sentence says why it is not understood. */
function look(
  words: readonly ShellWord[],
  finds: View["finds"],
  views: View[],
  variables: ReadonlySet<string>,
): string | undefined {
  views.push({ words, finds });
  const [program, ...rest] = words;
  if (program === undefined) return undefined;
  if (views.length > MAX_LEVELS) return "too many programs start each other";
  if (finds === "itself" && isBuiltin(program.text)) return say(program.text, builtinProblem(program.text, rest));
  if (!isProgram(program.text)) return `${program.text || "''"} is not the name of a program`;
  if (/^\/+(?:proc|dev)\//.test(program.text)) return `${program.text} is not the name of a program`;
  const names = knownNames(program.text);
  for (const name of names) {
    const wrapped = unwrap(name, rest, variables);
    if (typeof wrapped === "string") return say(name, wrapped);
    if (wrapped !== undefined) return look(wrapped.inner, joined(finds, wrapped.finds), views, variables);
  }
  for (const name of names) {
    const found = codeProblem(name, rest) ?? programProblem(name, rest);
    if (found !== undefined) return say(name, found);
  }
  return undefined;
}

/** Behind `timeout 5 npx …` the project decides, too. */
function joined(outer: View["finds"], found: Wrapped["finds"]): Wrapped["finds"] {
  return outer === "package" ? "package" : found;
}

function say(name: string, problem: string | undefined): string | undefined {
  return problem === undefined ? undefined : `${name} ${problem}`;
}

function programProblem(name: string, rest: readonly ShellWord[]): string | undefined {
  if (/^ld(?:-.*|64)?\.so/.test(name) || name === "ld-linux" || name === "ld-musl") return "starts another program";
  if (name === "sed" || name === "gsed") return scriptProblem(rest);
  if (/^[gb]?make$/.test(name)) {
    const problem = makeProblem(rest);
    if (problem !== undefined) return problem;
  }
  const subcommands = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  if (subcommands === undefined) return rowProblem(ROWS.get(name), withDash(name, rest));
  const first = rest.findIndex((word, index) => !isGlobal(word, rest[index - 1], subcommands));
  const word = rest[first];
  if (word === undefined) return undefined;
  const own = rest.slice(first + 1);
  if (name === "git" && word.text === "config") return configProblem(own);
  if (word.isOpen || !subcommands.known.has(word.text)) return `has no command that is known: ${word.text}`;
  if (name === "npm" && word.text === "init" && own.some(({ text }) => !text.startsWith("-"))) return "runs a package";
  return rowProblem(ROWS.get(name), rest) ?? rowProblem(ROWS.get(`${name}.${word.text}`), own);
}

/** An option before the subcommand that is known, or its value. */
function isGlobal(word: ShellWord, before: ShellWord | undefined, { options, withValue }: Subcommands): boolean {
  if (word.isOpen) return false;
  return withValue.test(word.text) || withValue.test(before?.text ?? "") || options.test(word.text);
}

/** Reading is harmless, and so are a few names; the others say which programs git starts. */
function configProblem(rest: readonly ShellWord[]): string | undefined {
  const words = rest.filter(({ text }) => !/^--(?:global|local|system|worktree)$/.test(text));
  const [first, second] = words;
  if (first === undefined || rest.some(({ isOpen }) => isOpen)) return "may change what git starts";
  if (/^(?:--get|--get-all|--get-regexp|--list|-l|list|get)$/.test(first.text)) return undefined;
  const isHarmless = /^(?:user\.(?:name|email)|init\.defaultbranch|pull\.rebase|core\.autocrlf)$/i.test(first.text);
  return !first.text.startsWith("-") && (second === undefined || isHarmless) ? undefined : "may change what git starts";
}

/** A variable of make can hold commands, and a Makefile can come from the input. */
function makeProblem(rest: readonly ShellWord[]): string | undefined {
  const isCode = (text: string): boolean =>
    /^[^-=]*[:+?!]*=.*[^\w./:,+@%=-]/s.test(text) || /^\.?SHELL\w*[:+?!]*=/.test(text);
  if (rest.some(({ text }) => isCode(text))) return "is given a variable that may hold a command";
  const isInput = rest.some(({ text }, index) => {
    const file =
      /^(?:-f|--file=|--makefile=)(.+)$/s.exec(text)?.[1] ??
      (/^(?:-f|--file|--makefile)$/.test(text) ? rest[index + 1]?.text : undefined);
    return file !== undefined && (file === "-" || /^\/+(?:dev|proc)\//.test(file));
  });
  return isInput ? "reads rules from its input" : undefined;
}

const ROWS: ReadonlyMap<string, ProgramRow> = new Map(
  PROGRAM_ROWS.flatMap((row) => row.programs.split(" ").map((name) => [name.toLowerCase(), row] as const)),
);

/** The first word of tar is a list of options, with or without a dash. */
function withDash(name: string, rest: readonly ShellWord[]): readonly ShellWord[] {
  const [first, ...more] = rest;
  if (!/tar$/.test(name) || first === undefined || first.text.startsWith("-")) return rest;
  return [{ ...first, text: `-${first.text}` }, ...more];
}

function rowProblem(row: ProgramRow | undefined, rest: readonly ShellWord[]): string | undefined {
  if (row === undefined) return undefined;
  const { letters, long, words, does } = row;
  if (letters === undefined && long === undefined && words === undefined) return does;
  const found = rest.find((word) => mayBeOption(word) || isListed(word.text, row));
  if (found === undefined) return undefined;
  return found.isOpen ? `${does}, and a glob may become such an option` : `${does}: ${found.text.slice(0, 60)}`;
}

function isListed(text: string, { letters = "", long = "", words = "" }: ProgramRow): boolean {
  if (/^--./.test(text)) {
    const name = text.slice(2).split("=", 1)[0] ?? "";
    if (long.split(" ").some((each) => each !== "" && each.startsWith(name))) return true;
  } else if (text.startsWith("-") && [...letters].some((letter) => text.includes(letter))) return true;
  return words
    .split(" ")
    .some(
      (each) => each !== "" && (text === each || (text.startsWith(each) && /^[=:/]/.test(text.slice(each.length)))),
    );
}
