/**
 * Programs that only start another one, with the options that are known exactly. The command behind them is what rules
 * see. An option that is not listed here makes the command one that is not understood.
 */

import { countOptions } from "./programs.ts";
import { closedWord, type ShellWord } from "./shell-words.ts";

/**
 * `path`: the program behind it is the one that the shell would have found, so a rule that allows it allows this, too.
 * `package`: the project decides what it is (`npx git status` runs the project's `git`), so only rules that deny or ask see it.
 */
export type Wrapped = { readonly inner: readonly ShellWord[]; readonly finds: "path" | "package" };

/** A variable that is known to be harmless, with a value that no program takes for code. */
export function isInert(name: string, value: string, variables: ReadonlySet<string>): boolean {
  return variables.has(name) && /^[\w./:,+@%*-]*$/.test(value);
}

type Read = (rest: readonly ShellWord[], variables: ReadonlySet<string>) => Wrapped | string | undefined;

/** Undefined for a program that starts no other here; the sentence says what is not known about it. */
export function unwrap(
  name: string,
  rest: readonly ShellWord[],
  variables: ReadonlySet<string>,
): Wrapped | string | undefined {
  const own = /^git-([a-z-]+)$/.exec(name)?.[1];
  if (own !== undefined) return { inner: [closedWord("git"), closedWord(own), ...rest], finds: "package" };
  return Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name]?.(rest, variables) : undefined;
}

const WRAPPERS: Readonly<Record<string, Read>> = {
  time: (rest) => behind(rest, /^-p$/),
  nohup: (rest) => behind(rest, /^--$/),
  nice: (rest) => behind(rest, /^(?:-n-?\d+|-\d+|--adjustment=-?\d+|--)$/, /^-n$/),
  timeout: readTimeout,
  env: readEnv,
  xargs: readXargs,
  npx: (rest) => fromPackage(behind(rest, /^(?:-y|--yes|--no|--no-install|--)$/)),
  bunx: (rest) => fromPackage(behind(rest, /^--bun$/)),
  pnpx: (rest) => fromPackage(behind(rest, /^$/)),
  uvx: (rest) => fromPackage(behind(rest, /^$/)),
  npm: (rest) => npmExec(rest),
  python: readModule,
  pypy: readModule,
  uv: (rest) =>
    subcommand(rest, "run", "add build cache export init lock pip publish python remove sync tree venv version"),
  pipx: (rest) => subcommand(rest, "run", "ensurepath inject install list uninstall upgrade"),
  poetry: (rest) =>
    subcommand(rest, "run", "add build check env export init install lock publish remove search show update version"),
  pdm: (rest) => subcommand(rest, "run", "add build info init install list lock remove sync update"),
  pipenv: (rest) => subcommand(rest, "run", "check graph install lock sync uninstall update"),
  hatch: (rest) => subcommand(rest, "run", "build clean dep fmt new project publish status version"),
  rye: (rest) => subcommand(rest, "run", "add build fetch init install list lock pin remove sync"),
  pixi: (rest) => subcommand(rest, "run", "add init install list lock remove update"),
  bundle: (rest) => subcommand(rest, "exec", "add check clean info init install list lock outdated show update"),
  pnpm: (rest) => manager(rest, /^(?:run|exec|dlx)$/),
  yarn: (rest) => manager(rest, /^(?:run|exec|dlx)$/),
  bun: (rest) => manager(rest, /^(?:run|x)$/),
};

/** Subcommands of pnpm, yarn and bun that start nothing by name. Any other word is a script or a program. */
const MANAGING = new Set(
  (
    "add audit cache ci dedupe fetch i import info init install licenses link list ls outdated pack pm prune publish " +
    "rebuild remove rm root store t test un uninstall unlink up update upgrade version why"
  ).split(" "),
);

/** The command behind the known options. */
function behind(rest: readonly ShellWord[], options: RegExp, withValue?: RegExp): Wrapped | string {
  return inner(rest.slice(countOptions(rest, { options, withValue })));
}

function inner(words: readonly ShellWord[]): Wrapped | string {
  const [first] = words;
  if (first === undefined) return "names no program";
  if (first.isOpen || first.text.startsWith("-")) return `has an option that is not known: ${first.text}`;
  if (first.text.includes("=") || first.text === "") return `sets ${first.text.split("=", 1)[0] || "nothing"}`;
  return { inner: words, finds: "path" };
}

/** A program or script of the project, by its name; code is refused. */
function fromPackage(found: Wrapped | string): Wrapped | string {
  if (typeof found === "string") return found;
  const [program, ...rest] = found.inner;
  const text = withoutVersion(program?.text ?? "");
  if (!/^[\w@./+:-]+$/.test(text)) return "may run code that is not the name of a program";
  if (rest.some((word) => /[$`]/.test(word.text))) return "may give $ or a backtick to a shell";
  return { inner: [closedWord(text), ...rest], finds: "package" };
}

/** `npx vitest@2 run` starts vitest. */
function withoutVersion(text: string): string {
  const at = text.lastIndexOf("@");
  const isVersion = at > 0 && !/[@/]/.test(text[at - 1] ?? "") && !text.includes("/", at);
  return isVersion ? text.slice(0, at) : text;
}

/** The subcommand `runs` starts a program; those in `known` start none. */
function subcommand(rest: readonly ShellWord[], runs: string, known: string): Wrapped | string | undefined {
  const [first, ...more] = rest;
  if (first === undefined || isAskedFor(first)) return undefined;
  if (!first.isOpen && first.text === runs) return fromPackage(behind(more, /^--$/));
  return !first.isOpen && known.split(" ").includes(first.text)
    ? undefined
    : `has no command that is known: ${first.text}`;
}

function npmExec([first, ...more]: readonly ShellWord[]): Wrapped | string | undefined {
  if (first === undefined || first.isOpen || !/^(?:exec|x)$/.test(first.text)) return undefined;
  // Without `--` npm takes every option for its own.
  const end = more.findIndex(({ text, isOpen }) => isOpen || !/^(?:-y|--yes|--no)$/.test(text));
  return more[end]?.text === "--"
    ? fromPackage(inner(more.slice(end + 1)))
    : "is known only with -- before the program";
}

/** `python -m pytest`: a module that the project may bring, as it may bring a program. */
function readModule([option, module, ...rest]: readonly ShellWord[]): Wrapped | string | undefined {
  if (option?.text !== "-m") return undefined;
  return isKnownModule(module)
    ? fromPackage({ inner: [module, ...rest], finds: "path" })
    : "runs a module that is not known";
}

/** True for a module of Python that runs no code which its arguments hold. */
export function isKnownModule(module: ShellWord | undefined): module is ShellWord {
  return module !== undefined && !module.isOpen && MODULES.test(module.text);
}

const MODULES =
  /^(?:pytest|unittest|pip|venv|http\.server|json\.tool|compileall|py_compile|ensurepip|build|mypy|ruff|black|isort|flake8|pylint)$/;

function isAskedFor({ text, isOpen }: ShellWord): boolean {
  return !isOpen && /^(?:--version|-v|-V|--help|-h)$/.test(text);
}

function manager(rest: readonly ShellWord[], runs: RegExp): Wrapped | string | undefined {
  const [first, ...more] = rest;
  if (first === undefined || isAskedFor(first)) return undefined;
  if (first.isOpen) return "has a command that is known only when it runs";
  if (/^(?:config|c|set)$/.test(first.text)) return "changes what later commands do";
  if (MANAGING.has(first.text)) return undefined;
  return fromPackage(runs.test(first.text) ? inner(more) : inner(rest));
}

function readTimeout(rest: readonly ShellWord[]): Wrapped | string {
  const flags = /^(?:--foreground|--preserve-status|--signal=\w+|--kill-after=[\d.]+[smhd]?|-[ks][\w.]+)$/;
  const found = behind(rest, flags, /^-[ks]$/);
  if (typeof found === "string") return found;
  const [duration, ...words] = found.inner;
  if (!/^(?:\d+(?:\.\d+)?|\.\d+)[smhd]?$/.test(duration?.text ?? "")) return "has no time that is known";
  return inner(words);
}

/** `env` alone prints variables. */
function readEnv(rest: readonly ShellWord[], variables: ReadonlySet<string>): Wrapped | string | undefined {
  if (rest.length === 0) return undefined;
  let at = 0;
  for (; at < rest.length && rest[at]?.text.includes("="); at++) {
    const { text = "", isOpen = true } = rest[at] ?? {};
    const equals = text.indexOf("=");
    const name = text.slice(0, equals);
    if (isOpen || !isInert(name, text.slice(equals + 1), variables)) return `sets ${name}`;
  }
  return inner(rest.slice(at));
}

/** Words from its input follow its own words, or replace a placeholder (`-I {}`). */
function readXargs(rest: readonly ShellWord[]): Wrapped | string {
  let mark: string | undefined;
  let isGrouped = false;
  let at = 0;
  for (; at < rest.length; at++) {
    const { text, isOpen } = rest[at] ?? { text: "", isOpen: true };
    if (isOpen) return "has an option that is known only when it runs";
    isGrouped ||= /^-[nL]|^--max-(?:args|lines)/.test(text);
    if (/^-[InPLd]$/.test(text)) {
      at += 1;
      if (rest[at]?.isOpen !== false) return "has a value that is known only when it runs";
      if (text === "-I") mark = rest[at]?.text;
    } else if (/^-I./.test(text)) mark = text.slice(2);
    else if (!/^(?:-[0rt]+|-[nPL]\d+|-d.+|--null|--no-run-if-empty|--max-(?:args|procs|lines)=\d+|--)$/.test(text))
      break;
  }
  // The last of these options counts, and which one that is differs between systems.
  if (mark !== undefined && isGrouped) return "has -I together with -n or -L";
  const words = rest.slice(at);
  if (words.length === 0) return { inner: [closedWord("echo"), UNKNOWN], finds: "path" };
  const found = inner(words);
  if (typeof found === "string") return found;
  if (mark === undefined) return { ...found, inner: [...found.inner, UNKNOWN] };
  const placeholder = mark;
  if (placeholder === "" || words[0]?.text.includes(placeholder))
    return "has a program that is known only when it runs";
  return { ...found, inner: found.inner.map((word) => opened(word, placeholder)) };
}

const UNKNOWN: ShellWord = { text: "", isOpen: true };

function opened(word: ShellWord, mark: string): ShellWord {
  const found = word.text.indexOf(mark);
  return found === -1 ? word : { text: word.text.slice(0, found), isOpen: true };
}
