/** Tells which programs a simple command starts, or why that is not known. */

import { rowProblem } from "./program-rows.ts";
import {
  builtinProblem,
  codeProblem,
  countOptions,
  isBuiltin,
  isFile,
  knownNames,
  plainPath,
  startsNothing,
} from "./programs.ts";
import { SUBCOMMANDS } from "./programs-table.ts";
import { scriptProblem } from "./sed-script.ts";
import { isProgram, type SimpleCommand } from "./shell-command.ts";
import { closedWord, type ShellWord } from "./shell-words.ts";
import { startedProblem } from "./unknown-program.ts";
import { isInert, unwrap, type Wrapped } from "./wrappers.ts";

/** The same command, looked at from outside or through the programs that start it. */
export type View = {
  readonly words: readonly ShellWord[];
  /** `itself` is as it was written; the others are what stands behind a program that only starts another one. */
  readonly finds: "itself" | Wrapped["finds"];
};

export type Understood = {
  /** The command as it was written first; the last one is what runs in the end. */
  readonly views: readonly View[];
  /** The words from each link to a program on, with the name of that program in its place. */
  readonly linked: readonly (readonly ShellWord[])[];
  /** The reason why it is not known what it does; undefined when it is. */
  readonly problem: string | undefined;
};

export type ProgramContext = {
  /** Names of variables that a command may set. */
  readonly variables: ReadonlySet<string>;
  /** The names of the program that an existing link leads to; undefined when it is not known which file the word means. */
  linkNames(word: ShellWord, finds?: View["finds"]): readonly string[] | undefined;
  /** The absolute path in its shortest spelling, from each folder where the shell may be. */
  fullPaths(path: string): readonly string[];
  /** True for the path of a file that is perhaps a device, or what another process has open. */
  mayBeDevice(path: string): boolean;
};

/** Variables that change what a program says or how it looks, not what it starts. */
export const INERT_VARIABLES: readonly string[] = (
  "CI NODE_ENV DEBUG NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES PORT HOST TZ LANG LANGUAGE LC_ALL LC_CTYPE LC_MESSAGES " +
  "LC_NUMERIC LC_TIME LC_COLLATE LOG_LEVEL VERBOSE RUST_BACKTRACE RUST_LOG CARGO_TERM_COLOR PYTHONUNBUFFERED " +
  "PYTHONDONTWRITEBYTECODE GOOS GOARCH SOURCE_DATE_EPOCH"
).split(" ");

const MAX_LEVELS = 4;
const MAX_SENTENCE = 300;

export function understand({ assignments, words }: SimpleCommand, context: ProgramContext): Understood {
  const reading: Reading = { ...context, views: [], linked: [] };
  const set = assignments.find(({ name, value }) => !isInert(name, value, context.variables));
  const problem = look(words, "itself", reading) ?? lookBehind(reading);
  const sentence = set === undefined ? problem : `it sets the variable ${set.name}`;
  const { views, linked } = reading;
  // A word of the command may be in it, of any length.
  return { views, linked, problem: sentence?.slice(0, MAX_SENTENCE).toWellFormed() };
}

/** The findings while a command is read. */
type Reading = ProgramContext & { readonly views: View[]; readonly linked: (readonly ShellWord[])[] };

/** Adds the command and what it starts to the views. The sentence says why it is not understood. */
function look(words: readonly ShellWord[], finds: View["finds"], reading: Reading): string | undefined {
  const { views, linked, variables } = reading;
  views.push({ words, finds });
  const [program, ...rest] = words;
  if (program === undefined) return undefined;
  if (views.length > MAX_LEVELS) return "too many programs start each other";
  if (finds === "itself" && isBuiltin(program.text)) return say(program.text, builtinProblem(program.text, rest));
  if (!isProgram(program.text)) return `${program.text || "''"} is not the name of a program`;
  if (/^\/(?:proc|dev)\//.test(plainPath(program.text))) return `${program.text} is not the name of a program`;
  const links = reading.linkNames(program, finds);
  if (links === undefined) return `which file ${program.text} is, is not known`;
  linked.push(...links.map((name) => [closedWord(name), ...rest]));
  const names = [program.text, ...links].flatMap(knownNames);
  for (const name of names) {
    const wrapped = unwrap(name, rest, variables);
    if (typeof wrapped === "string") return say(name, wrapped);
    if (wrapped === undefined) continue;
    return look(wrapped.inner, foundBehind(program.text, finds, wrapped.finds), reading);
  }
  const isScript = (word: ShellWord | undefined): boolean => isFile(word) && !reading.mayBeDevice(word?.text ?? "");
  for (const name of names) {
    const found = codeProblem(name, rest, isScript) ?? programProblem(name, rest, isScript);
    if (found !== undefined) return say(name, found);
  }
  return undefined;
}

/** Looks at what the last program may start, if it is not known to start nothing. */
function lookBehind(reading: Reading): string | undefined {
  const view = reading.views.at(-1);
  const [program, ...rest] = view?.words ?? [];
  if (view === undefined || program === undefined || !mayStartOthers(view, reading.linked)) return undefined;
  const problemOf = (words: readonly ShellWord[]): string | undefined =>
    look(words, "itself", { ...reading, views: [], linked: [] });
  const problem = startedProblem(rest, { ...reading, problemOf });
  return problem && `${program.text} may start what its arguments say: ${problem}`;
}

/** False for a program that is known to start none of its arguments, unless it is a link to another one. */
export function mayStartOthers({ words, finds }: View, linked: Understood["linked"]): boolean {
  const [program] = words;
  if (program === undefined) return false;
  // Builtins that are understood start nothing; the others always need an answer.
  if (finds === "itself" && isBuiltin(program.text)) return false;
  const names = linked.flatMap(([first]) => first?.text ?? []);
  return !startsNothing(words, names);
}

/**
 * Tells how the program behind a starter is found. Behind `timeout 5 npx …` the project decides, too, and `./timeout` may be
 * anything.
 */
function foundBehind(starter: string, outer: View["finds"], found: Wrapped["finds"]): View["finds"] {
  if (outer === "package" || starter.includes("/")) return "package";
  // The shell itself knows `time`, so what follows may be a builtin.
  return starter === "time" ? outer : found;
}

function say(name: string, problem: string | undefined): string | undefined {
  return problem === undefined ? undefined : `${name} ${problem}`;
}

function programProblem(
  name: string,
  rest: readonly ShellWord[],
  isScript: (word: ShellWord | undefined) => boolean,
): string | undefined {
  if (/^ld(?:-.*|64)?\.so/.test(name) || name === "ld-linux" || name === "ld-musl") return "starts another program";
  if (name === "sed" || name === "gsed") return scriptProblem(rest);
  if (/^[gb]?make$/.test(name)) return makeProblem(rest, isScript);
  const subcommands = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  if (subcommands === undefined) return rowProblem(name, rest);
  const first = countOptions(rest, subcommands);
  const word = rest[first];
  if (word === undefined) return undefined;
  const own = rest.slice(first + 1);
  if (name === "git" && word.text === "config") return configProblem(own);
  if (word.isOpen || !subcommands.known.has(word.text)) return `has no command that is known: ${word.text}`;
  if (name === "npm" && word.text === "init" && own.some(({ text }) => !text.startsWith("-"))) return "runs a package";
  if (name === "npm" && own.some(({ text }) => /[$`]/.test(text))) return "may give $ or a backtick to a shell";
  return rowProblem(name, rest) ?? rowProblem(`${name}.${word.text}`, own);
}

/** Reading is harmless, and so are a few settings; the others say which programs git starts. */
function configProblem(rest: readonly ShellWord[]): string | undefined {
  const words = rest.filter(({ text }) => !/^--(?:global|local|system|worktree)$/.test(text));
  const [first, second] = words;
  if (first === undefined || rest.some(({ isOpen }) => isOpen)) return "may change what git starts";
  if (/^(?:--get|--get-all|--get-regexp|--list|-l|list|get)$/.test(first.text)) return undefined;
  const isHarmless = /^(?:user\.(?:name|email)|init\.defaultbranch|pull\.rebase|core\.autocrlf)$/i.test(first.text);
  return !first.text.startsWith("-") && (second === undefined || isHarmless) ? undefined : "may change what git starts";
}

/** A variable of make can hold commands, and a Makefile can come from the input. */
function makeProblem(
  rest: readonly ShellWord[],
  isScript: (word: ShellWord | undefined) => boolean,
): string | undefined {
  for (let at = 0; at < rest.length; at++) {
    const { text, isOpen } = rest[at] ?? { text: "", isOpen: true };
    if (isOpen || text.includes("=")) return "may be given a variable that holds a command";
    if (text === "-C" || text === "-f") {
      at += 1;
      if (text === "-f" && !isScript(rest[at])) return "may read rules from its input";
      if (rest[at] === undefined || rest[at]?.isOpen || rest[at]?.text.startsWith("-"))
        return "has an option without a value";
    } else if (text.startsWith("-") && !/^-(?:j\d*|[skBn]+)$/.test(text)) {
      return `has an option that is not known: ${text.slice(0, 60)}`;
    }
  }
  return undefined;
}
