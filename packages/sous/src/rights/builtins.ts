/** The builtins of bash that are understood. Every other one changes the shell, or evaluates what it is given. */

import { mayBeOption, type ShellWord } from "./shell-words.ts";

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

/** Why a builtin is not understood; undefined when it is. */
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
