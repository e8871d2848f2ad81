/** The name of a program in a command, and the other names under which tables may know it. */

import { posix } from "node:path";
import { trimEndOf } from "../../core/truncate.ts";
import { OWN_COMMANDS } from "./programs-table.ts";
import { mayBeOption, type ShellWord } from "./shell-words.ts";

/** Returns the name without its folder and the ending Windows gives it, in small letters. */
export function programName(word: string): string {
  return word
    .slice(Math.max(word.lastIndexOf("/"), word.lastIndexOf("\\")) + 1)
    .toLowerCase()
    .replace(/\.exe$/, "");
}

/** `python3.11` is `python`, `vim.tiny` is `vim`; the name itself comes first. */
export function knownNames(word: string): readonly string[] {
  const name = programName(word);
  // `perl5.36-x86_64-linux-gnu`, `luajit-2.1.0-beta3`, `x86_64-linux-gnu-gcc`.
  const stem = /^[a-z]+(?=\d|[-_]\d+\.)/.exec(name)?.[0] ?? name;
  const tool = /-(?:gcc|g\+\+|cpp|clang|cc)$/.test(withoutVersion(name)) ? "gcc" : name;
  return [...new Set([name, withoutVersion(name), name.split(".", 1)[0] ?? name, stem, tool])];
}

function withoutVersion(name: string): string {
  const stem = trimEndOf(name, "0123456789.");
  return stem.length < name.length && /[-_]$/.test(stem) ? stem.slice(0, -1) : stem;
}

/** The builtins of bash. Those not understood change the shell or evaluate what they are given. */
const BUILTINS = new Set(
  (
    ". : [ alias bg bind break builtin caller cd chdir command compgen complete compopt continue declare dirs disown echo enable eval " +
    "exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read " +
    "readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait"
  ).split(" "),
);

const PLAIN = new Set(": cd echo exit false kill pwd true type umask".split(" "));

/** True for a word that the shell runs by itself: no program of this name is started. */
export function isBuiltin(word: string): boolean {
  return BUILTINS.has(word);
}

/** Programs of daily work that start none of their arguments; those with options that do are in `programs-table.ts`. */
const STARTS_NOTHING = new Set(
  (
    "[ basename black bundle cargo cat cd chmod chown clang cmp composer cp curl cut date df diff dirname docker du echo eslint " +
    "exit expr false fd file find fmt fold gcc git go gofmt grep gunzip gzip head help id jq kill killall less ln ls make md5sum mkdir " +
    "mktemp mv mypy npm od paste pgrep pip pip3 pkill pnpm prettier printf ps pwd pytest readlink realpath rg rm rmdir ruff rsync sed seq " +
    "sha256sum shasum sleep sort stat strings tail tar tee test touch tr tree true tsc type umask uname uniq unzip uv vitest wc " +
    "wget which whoami xxd yarn yq zip"
  ).split(" "),
);

/** The folders in which a program has the name of what it is. A file of this name elsewhere may be anything. */
const SYSTEM_FOLDER = /^\/(?:usr\/(?:local\/)?)?bin\/[^/]+$/;

/** True for a program that starts none of its arguments. As a link it is what it leads to. */
export function startsNothing([program, ...rest]: readonly ShellWord[], links: readonly string[] = []): boolean {
  const text = program?.text ?? "";
  const name = programName(text);
  const isElsewhere = text.includes("/") && (text.includes("..") || !SYSTEM_FOLDER.test(plainPath(text)));
  if (!STARTS_NOTHING.has(name) || isElsewhere) return false;
  if (!links.every((link) => knownNames(link).some((each) => STARTS_NOTHING.has(each)))) return false;
  const own = OWN_COMMANDS[name];
  const first = rest.find(({ text }) => !/^[-+]/.test(text));
  return own === undefined || first === undefined || (!first.isOpen && own.has(first.text));
}

/** The path in its shortest spelling, as far as the text shows it: `/usr/bin/./bash` is `/usr/bin/bash`. */
export function plainPath(path: string): string {
  return path.includes("/") ? posix.normalize(path).replace(/^\/+/, "/") : path;
}

/** Says why a builtin is not understood; undefined when it is. */
export function builtinProblem(name: string, rest: readonly ShellWord[]): string | undefined {
  if (PLAIN.has(name)) return undefined;
  switch (name) {
    case "test":
    case "[":
      // `-v` and `-R` evaluate the index of an array, also in quotes.
      return rest.some((word) => /^-[vR]$/.test(word.text) || mayBeOption(word)) ? "may evaluate -v or -R" : undefined;
    case "printf":
      return printfProblem(rest);
    case "set":
      return isKnownSet(rest) ? undefined : "is known only as set -e, -u, -x and -o pipefail";
    case "command":
      return rest[0]?.text === "-v" && rest.length > 1 ? undefined : "is known only as command -v";
    default:
      return "changes the shell or evaluates what it is given";
  }
}

/** `-v` and `%n` set variables. */
function printfProblem([format, ...rest]: readonly ShellWord[]): string | undefined {
  if (format === undefined || format.isOpen) return "has a format that is known only when it runs";
  if ([format, ...rest].some(({ text }) => text.startsWith("-v"))) return "sets a variable with -v";
  const format1 = format.text === "--" ? rest[0] : format;
  if (format1 === undefined || format1.isOpen) return "has a format that is known only when it runs";
  const directives = format1.text.replaceAll("%%", "");
  return /%[^a-zA-Z%]*[hlLjtzq]*n/.test(directives) ? "sets a variable with %n" : undefined;
}

function isKnownSet(rest: readonly ShellWord[]): boolean {
  const text = rest.map((word) => (word.isOpen ? "?" : word.text)).join(" ");
  return /^(?:[-+][eux]+|[-+][eux]*o pipefail)(?: (?:[-+][eux]+|[-+][eux]*o pipefail))*$/.test(text);
}

/** Programs that run a script: from a file they are understood (the file is not read), with code or on input they are not. */
const SHELL_NAME =
  /^(?:(?:r|l|m|pd|o|po|y)?(?:sh|bash|dash|ash|zsh|ksh|csh|tcsh)(?:93)?(?:[-.\d].*)?|fish|elvish|nu|pwsh|powershell|cmd)$/;
const OTHERS =
  "perl ruby jruby lua luajit rscript swipl raku crystal nim scala groovy kotlin elixir escript ocaml runghc runhaskell erb";

/** Options that are known; the value of those in `withValue` is the next word. */
export type KnownOptions = { readonly options: RegExp; readonly withValue?: RegExp | undefined };

/** Counts the words at the start that are known options and their values. */
export function countOptions(words: readonly ShellWord[], { options, withValue }: KnownOptions): number {
  let at = 0;
  for (; at < words.length; at++) {
    const { text, isOpen } = words[at] ?? { text: "", isOpen: true };
    if (isOpen) break;
    if (withValue?.test(text) && words[at + 1]?.isOpen === false) at += 1;
    else if (!options.test(text)) break;
  }
  return at;
}

/** The options change nothing about where the code comes from. */
type Interpreter = KnownOptions & {
  /** Words behind which, or in which, code follows. */
  readonly code: RegExp;
  /** A single name as code does nothing, and the option without a word behind it is an error. */
  readonly isCalm?: true;
  /** True when no file is needed: for the words behind the options, and all words. */
  readonly instead?: (words: readonly string[], all: readonly string[]) => boolean;
};

const SHELL: Interpreter = { options: /^-(?:[eux]+|n)$/, code: /^-[A-Za-z0-9]*[cC]|^--(?:com|init-com)/ };
const OTHER: Interpreter = { options: /^$/, code: /^-[A-Za-z0-9]*[eEp]|^--(?:eval|print|execute)|^eval$/ };
/** Programs that take the options of Node. */
const LIKE_NODE: Interpreter = { options: /^$/, code: /^-(?:e|p|pe)$|^--(?:eval|print)/, isCalm: true };
const PYTHON: Interpreter = {
  options: /^-(?:[uBOEsSIqb]|OO)$/,
  withValue: /^-[WX]$/,
  code: /^-[A-Za-z0-9]*c/,
  isCalm: true,
};
const POWERSHELL: Interpreter = { options: /^$/, code: /^-[A-Za-z]*[cC]|^-[eE]/ };

const SPECIAL: Readonly<Record<string, Interpreter>> = {
  python: PYTHON,
  pypy: { ...OTHER, code: PYTHON.code },
  pwsh: POWERSHELL,
  powershell: POWERSHELL,
  nu: { options: /^$/, code: /^-[A-Za-z]*[ce]|^--(?:commands|execute)/ },
  swipl: { ...OTHER, code: /^-[A-Za-z]*[gt]/ },
  node: {
    ...LIKE_NODE,
    // The debugger takes the same options, and commands from its input.
    code: /^-(?:e|p|pe)$|^--(?:eval|print)|^inspect$/,
    options:
      /^--(?:test(?:-only|-name-pattern=.*|-concurrency=\d+|-reporter=(?:spec|tap|dot|junit|lcov))?|watch|check|experimental-strip-types|no-warnings|enable-source-maps|trace-warnings|trace-uncaught|max-old-space-size=\d+)$/,
    // Without options `node` reads code from its input; behind `--test` it looks for files.
    instead: (words, all) => words.length === 0 && all.some((text) => text.startsWith("--test")),
  },
  php: { options: /^$/, code: /^-[A-Za-z]*[rRBE]|^--(?:run|process)/ },
  deno: {
    ...OTHER,
    code: /^-[A-Za-z]*[eEp]|^--(?:eval|print)|^(?:eval|repl)$/,
    instead: ([first = ""]) => /^(?:test|fmt|lint|check|info|doc)$/.test(first),
  },
  // The words of its own are in `wrappers.ts`.
  bun: { ...LIKE_NODE, instead: () => true },
};

const KNOWN: ReadonlyMap<string, Interpreter> = new Map([
  ...OTHERS.split(" ").map((name) => [name, OTHER] as const),
  ..."ts-node tsx esno jiti coffee babel-node".split(" ").map((name) => [name, LIKE_NODE] as const),
  ...Object.entries(SPECIAL),
]);

/** Says why the code that would run is not known; undefined for a file, and for a program that is not an interpreter. */
export function codeProblem(
  name: string,
  rest: readonly ShellWord[],
  isScript: (word: ShellWord | undefined) => boolean,
): string | undefined {
  const interpreter = interpreterOf(name);
  if (interpreter === undefined) return undefined;
  if (rest.length === 1 && isAskedFor(name, rest[0]?.text ?? "")) return undefined;
  const words = rest.slice(countOptions(rest, interpreter));
  const [own = [], all = []] = [words, rest].map((each) => each.map(({ text }) => text));
  if (interpreter.instead?.(own, all) === true) return undefined;
  const [file] = words;
  if (file === undefined) return "runs code from its input";
  if (isScript(file)) return undefined;
  return `may run code that is not a file: ${file.text || "its first word is known only when it runs"}`;
}

/**
 * True when an option in front of any file gives code to an interpreter. `isValue`: the name itself may be the value of an
 * option of another program, as in `journalctl -u node -p err`.
 */
export function isGivenCode(name: string, rest: readonly ShellWord[], isValue: boolean): boolean {
  const interpreter = interpreterOf(name);
  if (interpreter === undefined) return false;
  const words = rest.slice(countOptions(rest, interpreter));
  let mayBeValue = false;
  for (const [index, { text, isOpen }] of words.entries()) {
    const isOption = /^[-+]/.test(text);
    const code = interpreter.code.exec(text)?.[0];
    if (code !== undefined && mayBeCode(text.slice(code.length), words[index + 1], interpreter, isValue)) return true;
    if ((isOpen && isOption) || hasCodeInside(text)) return true;
    if (text === "--" || (!isOption && !mayBeValue)) return false;
    mayBeValue = isOption;
  }
  return false;
}

/** `-Mstrict;…` of Perl, and `--import data:…` of Node. */
function hasCodeInside(text: string): boolean {
  return (/^-[^-]/.test(text) && /[$`;({]/.test(text)) || /(?:^|=)data:/i.test(text);
}

/** Looks at the option and the word behind it. A shell takes any word for a command. */
function mayBeCode(inside: string, next: ShellWord | undefined, { isCalm }: Interpreter, isValue: boolean): boolean {
  if (isCalm !== true || inside !== "" || next?.isOpen === true) return true;
  return next !== undefined && !(isValue && /^[A-Za-z_]\w*$/.test(next.text));
}

export const INTERPRETER_NAMES: readonly string[] = [
  ...KNOWN.keys(),
  ..."sh bash dash ash zsh ksh csh tcsh fish".split(" "),
];

export function isInterpreter(name: string): boolean {
  return interpreterOf(name) !== undefined;
}

function interpreterOf(name: string): Interpreter | undefined {
  return KNOWN.get(name === "nodejs" ? "node" : name) ?? (SHELL_NAME.test(name) ? SHELL : undefined);
}

/** The same letter prints the version in one interpreter and reads code from the input in another. */
function isAskedFor(name: string, option: string): boolean {
  const letters: Readonly<Record<string, string>> = { node: "-v", nodejs: "-v", python: "-V", perl: "-v", php: "-v" };
  return /^--(?:version|help)$/.test(option) || (Object.hasOwn(letters, name) && letters[name] === option);
}

/** The path of a script: not the name of a device, wherever `cd` has led, and not a word that could be a subcommand. */
export function isFile(word: ShellWord | undefined): boolean {
  if (word === undefined || word.isOpen || /^[-+]/.test(word.text) || !/[./]/.test(word.text)) return false;
  const name = word.text.slice(word.text.lastIndexOf("/") + 1);
  const isDevice = /^(?:stdin|stdout|stderr|tty|fd|\d+|)$/.test(name) || /(?:^|\/)(?:dev|proc)\//.test(word.text);
  return !isDevice && !/^(?:data|https?|file|node|npm|jsr):/i.test(word.text);
}
