/** Programs that run a script: from a file they are understood (the file is not read), with code or on input they are not. */

import type { ShellWord } from "./shell-words.ts";

const SHELL_NAME =
  /^(?:(?:r|l|m|pd|o|po|y)?(?:sh|bash|dash|ash|zsh|ksh|csh|tcsh)(?:93)?(?:[-.\d].*)?|fish|elvish|nu|pwsh|powershell|cmd)$/;
const OTHERS =
  "python pypy node nodejs perl ruby jruby php lua luajit rscript ts-node tsx esno jiti coffee babel-node swipl raku crystal " +
  "nim scala groovy kotlin elixir escript ocaml runghc runhaskell deno erb";

type Interpreter = {
  /** Options that change nothing about where the code comes from. */
  readonly options: RegExp;
  /** Of these, one whose value is the next word. */
  readonly withValue?: RegExp;
  /** Words that take the place of a file. */
  readonly instead?: (words: readonly string[]) => boolean;
};

const SHELL: Interpreter = { options: /^-(?:[eux]+|n)$/ };
const OTHER: Interpreter = { options: /^$/ };

const SPECIAL: Readonly<Record<string, Interpreter>> = {
  python: {
    options: /^-(?:[uBOEsSIqb]|OO)$/,
    withValue: /^-[WX]$/,
  },
  node: {
    options:
      /^--(?:test(?:-only|-name-pattern=.*|-concurrency=\d+|-reporter=(?:spec|tap|dot|junit|lcov))?|watch|check|experimental-strip-types|no-warnings|enable-source-maps|trace-warnings|trace-uncaught|max-old-space-size=\d+)$/,
    instead: (words) => words.length === 0,
  },
  deno: { options: /^$/, instead: ([first = ""]) => /^(?:test|fmt|lint|check|info|doc)$/.test(first) },
};

const KNOWN: ReadonlyMap<string, Interpreter> = new Map([
  ...OTHERS.split(" ").map((name) => [name, OTHER] as const),
  ...Object.entries(SPECIAL),
]);

/** Why the code that would run is not known; undefined for a file, and for what is no interpreter. */
export function codeProblem(name: string, rest: readonly ShellWord[]): string | undefined {
  const interpreter = SHELL_NAME.test(name) ? SHELL : KNOWN.get(name === "nodejs" ? "node" : name);
  if (interpreter === undefined) return undefined;
  if (rest.length === 1 && isAskedFor(name, rest[0]?.text ?? "")) return undefined;
  let at = 0;
  for (; at < rest.length; at++) {
    const { text, isOpen } = rest[at] ?? { text: "", isOpen: true };
    if (isOpen) break;
    if (interpreter.withValue?.test(text) && rest[at + 1]?.isOpen === false) at += 1;
    else if (!interpreter.options.test(text)) break;
  }
  const words = rest.slice(at);
  // Without options `node` reads code from its input; behind `--test` it looks for files.
  const isInstead = interpreter.instead?.(words.map(({ text }) => text)) === true;
  if (isInstead && (words.length > 0 || rest.some(({ text }) => text.startsWith("--test")))) return undefined;
  const [file] = words;
  if (file === undefined) return "runs code from its input";
  if (isFile(file)) return undefined;
  return `may run code that is no file: ${file.text || "its first word is known only when it runs"}`;
}

/** Letters mean the version to some, and to others that they say what they read from their input. */
function isAskedFor(name: string, option: string): boolean {
  const letters: Readonly<Record<string, string>> = {
    node: "-v",
    nodejs: "-v",
    python: "-V",
    perl: "-v",
    ruby: "--version",
    php: "-v",
  };
  return /^--(?:version|help)$/.test(option) || (Object.hasOwn(letters, name) && letters[name] === option);
}

/** The path of a script. Names of devices are none, wherever `cd` has led; nor is a word that could be a subcommand. */
export function isFile(word: ShellWord | undefined): boolean {
  if (word === undefined || word.isOpen || /^[-+]/.test(word.text) || !/[./]/.test(word.text)) return false;
  const name = word.text.slice(word.text.lastIndexOf("/") + 1);
  const isDevice = /^(?:stdin|stdout|stderr|tty|fd|\d+|)$/.test(name) || /(?:^|\/)(?:dev|proc)\//.test(word.text);
  return !isDevice && !/^(?:data|https?|file|node|npm|jsr):/i.test(word.text);
}
