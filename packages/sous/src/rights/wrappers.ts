/**
 * Programs that only start another one, with the options that are known exactly. The command behind them is what rules
 * see. An option that is not listed here makes the command one that is not understood.
 */

import type { ShellWord } from "./shell-words.ts";

/**
 * `path`: the program behind it is the one that the shell would have found, so a rule that allows it allows this, too.
 * `package`: the project decides what it is (`npx git status` runs the project's `git`), so only rules that deny or ask see it.
 */
export type Wrapped = { readonly inner: readonly ShellWord[]; readonly finds: "path" | "package" };

type Read = (rest: readonly ShellWord[], variables: ReadonlySet<string>) => Wrapped | string | undefined;

/** Undefined for a program that starts no other one here; the sentence says what is not known about it. */
export function unwrap(
  name: string,
  rest: readonly ShellWord[],
  variables: ReadonlySet<string>,
): Wrapped | string | undefined {
  return Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name]?.(rest, variables) : undefined;
}

const WRAPPERS: Readonly<Record<string, Read>> = {
  time: (rest) => behind(rest, /^-p$/),
  nohup: (rest) => behind(rest, /^--$/),
  nice: (rest) => behind(rest, /^(?:-n-?\d+|-\d+|--adjustment=-?\d+)$/, /^-n$/),
  timeout: readTimeout,
  env: readEnv,
  xargs: readXargs,
  npx: (rest) => fromPackage(behind(rest, /^(?:-y|--yes|--no|--no-install|--)$/)),
  bunx: (rest) => fromPackage(behind(rest, /^--bun$/)),
  pnpx: (rest) => fromPackage(behind(rest, /^$/)),
  uvx: (rest) => fromPackage(behind(rest, /^$/)),
  npm: (rest) => subcommand(rest, { exec: /^(?:-y|--yes|--no|--)$/, x: /^(?:-y|--yes|--no|--)$/ }),
  uv: (rest) => subcommand(rest, { run: /^--$/ }),
  pipx: (rest) => subcommand(rest, { run: /^--$/ }),
  poetry: (rest) => subcommand(rest, { run: /^$/ }),
  pdm: (rest) => subcommand(rest, { run: /^$/ }),
  pipenv: (rest) => subcommand(rest, { run: /^$/ }),
  hatch: (rest) => subcommand(rest, { run: /^$/ }),
  rye: (rest) => subcommand(rest, { run: /^$/ }),
  pixi: (rest) => subcommand(rest, { run: /^$/ }),
  bundle: (rest) => subcommand(rest, { exec: /^$/ }),
  pnpm: (rest) => manager(rest, /^(?:run|exec|dlx)$/),
  yarn: (rest) => manager(rest, /^(?:run|exec|dlx)$/),
  bun: (rest) => manager(rest, /^(?:run|x)$/),
};

/** Subcommands of pnpm, yarn and bun that start nothing by name. Any other word is a script or a program. */
const MANAGING = new Set(
  (
    "add audit cache ci config dedupe fetch i import info init install licenses link list ls outdated pack pm prune publish " +
    "rebuild remove rm root store t test un uninstall unlink up update upgrade version why"
  ).split(" "),
);

/** The command behind the options that are known. `withValue` are options whose value is the next word. */
function behind(rest: readonly ShellWord[], options: RegExp, withValue?: RegExp): Wrapped | string {
  let at = 0;
  for (; at < rest.length; at++) {
    const word = rest[at];
    if (word === undefined || word.isOpen) break;
    if (withValue?.test(word.text)) at += 1;
    else if (!options.test(word.text)) break;
  }
  return inner(rest.slice(at));
}

function inner(words: readonly ShellWord[]): Wrapped | string {
  const [first] = words;
  if (first === undefined) return "names no program";
  if (first.isOpen || first.text.startsWith("-")) return `has an option that is not known: ${first.text}`;
  if (first.text.includes("=") || first.text === "") return `sets ${first.text.split("=", 1)[0] || "nothing"}`;
  return { inner: words, finds: "path" };
}

function fromPackage(found: Wrapped | string): Wrapped | string {
  if (typeof found === "string") return found;
  const [program, ...rest] = found.inner;
  // `npx vitest@2 run` starts vitest.
  const text = program?.text.replace(/(?<=[^@/])@[^/]*$/, "") ?? "";
  return { inner: [{ text, isOpen: false }, ...rest], finds: "package" };
}

function subcommand(rest: readonly ShellWord[], known: Readonly<Record<string, RegExp>>): Wrapped | string | undefined {
  const [first, ...more] = rest;
  if (first === undefined || first.isOpen) return undefined;
  const options = Object.hasOwn(known, first.text) ? known[first.text] : undefined;
  return options === undefined ? undefined : fromPackage(behind(more, options));
}

function manager(rest: readonly ShellWord[], runs: RegExp): Wrapped | string | undefined {
  const [first, ...more] = rest;
  if (first === undefined || /^(?:--version|-v|--help|-h)$/.test(first.text)) return undefined;
  if (first.isOpen) return "has a command that is known only when it runs";
  if (MANAGING.has(first.text)) return undefined;
  return fromPackage(runs.test(first.text) ? inner(more) : inner(rest));
}

function readTimeout(rest: readonly ShellWord[]): Wrapped | string {
  const flags = /^(?:--foreground|--preserve-status|--signal=\w+|--kill-after=[\d.]+[smhd]?|-[ks][\w.]+)$/;
  const found = behind(rest, flags, /^-[ks]$/);
  if (typeof found === "string") return found;
  const [duration, ...words] = found.inner;
  if (!/^\d*\.?\d+[smhd]?$/.test(duration?.text ?? "")) return "has no time that is known";
  return inner(words);
}

/** `env` alone prints variables. */
function readEnv(rest: readonly ShellWord[], variables: ReadonlySet<string>): Wrapped | string | undefined {
  if (rest.length === 0) return undefined;
  let at = 0;
  for (; at < rest.length && rest[at]?.text.includes("="); at++) {
    const { text = "", isOpen = true } = rest[at] ?? {};
    const name = text.slice(0, text.indexOf("="));
    if (isOpen || !variables.has(name)) return `sets ${name}`;
  }
  return inner(rest.slice(at));
}

/** What comes from its input stands behind the words, or in the place of a mark (`-I {}`). */
function readXargs(rest: readonly ShellWord[]): Wrapped | string {
  let mark: string | undefined;
  let at = 0;
  for (; at < rest.length; at++) {
    const { text, isOpen } = rest[at] ?? { text: "", isOpen: true };
    if (isOpen) return "has an option that is known only when it runs";
    if (text === "-I") mark = rest[++at]?.text;
    else if (/^-I./.test(text)) mark = text.slice(2);
    else if (/^-[nPLd]$/.test(text)) at += 1;
    else if (!/^(?:-[0rt]+|-[nPL]\d+|-d.+|--null|--no-run-if-empty|--max-(?:args|procs|lines)=\d+)$/.test(text)) break;
  }
  const words = rest.slice(at);
  if (words.length === 0) return { inner: [{ text: "echo", isOpen: false }, UNKNOWN], finds: "path" };
  const found = inner(words);
  if (typeof found === "string") return found;
  if (mark === undefined) return { ...found, inner: [...found.inner, UNKNOWN] };
  const place = mark;
  if (place === "" || words[0]?.text.includes(place)) return "has a program that is known only when it runs";
  return { ...found, inner: found.inner.map((word) => opened(word, place)) };
}

const UNKNOWN: ShellWord = { text: "", isOpen: true };

function opened(word: ShellWord, mark: string): ShellWord {
  const found = word.text.indexOf(mark);
  return found === -1 ? word : { text: word.text.slice(0, found), isOpen: true };
}
