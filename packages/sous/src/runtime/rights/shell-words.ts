/** One word of a shell command: its text as the shell would pass it on, or the reason why it is unknown. */

import { trimEndOf } from "../../core/truncate.ts";

export type ShellWord = {
  readonly text: string;
  /** True when the shell may replace it by other words: a glob, or a value known only when the command runs. */
  readonly isOpen: boolean;
};

/** A word that the shell passes on as it stands. */
export function closedWord(text: string): ShellWord {
  return { text, isOpen: false };
}

/** A glob may become an option: a file can have any name. */
export function mayBeOption({ text, isOpen }: ShellWord): boolean {
  return isOpen && /^(?:$|[-*?[])/.test(text);
}

/** Text that is read from left to right. */
export type Source = { readonly text: string; at: number };

export type ShellProblem = { readonly problem: string };

type WordOptions = {
  /** An argument may hold globs, `$?` and the home folder; `literal` takes globs as they stand, as an assignment does. */
  readonly kind: "argument" | "literal" | "pattern";
  /** The home folder, where it is known. */
  readonly home?: string | undefined;
};

/** A word as it was written. It ends at the position of `source` afterwards. */
export type WrittenWord = ShellWord & {
  /** Digits without quotes: before an arrow they are the number of a stream. */
  readonly isNumber: boolean;
  /** True when it holds `{…}`: before an arrow that would be a variable. */
  readonly hasBraces: boolean;
};

/** Stands for an unquoted `*` in the words of a pattern. No command that is understood can hold it. */
export const WILDCARD = "\ue000";

/** The characters that end a word outside of quotes. */
const WORD_END = /[ \t\n;&|<>]/;
const PLAIN = /[A-Za-z0-9_@%+=:,./^!\]#-]+/y;
const BRACES = /\{[A-Za-z0-9_-]*\}/y;
/** A commit message as models write it: the whole word is `"$(cat <<'X' … X )"`. */
const QUOTED_DOCUMENT = /"\$\(cat <<[ ]?'(\w+)'\n/y;
/** The bash 3.2 of macOS looks for quotes and brackets in the text of a here-document inside `$(…)`. */
const HAS_OLD_BASH = process.platform === "darwin";
/** Invisible characters, and those that some shells take for a blank. Harmless inside quotes. */
const UNSEEN = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Reads one word. `\` before a line break is dropped everywhere but in single quotes, as the shell does. */
export function readWord(source: Source, options: WordOptions): WrittenWord | ShellProblem {
  const word = { text: "", isOpen: false, isNumber: true, braces: 0, hasComma: false };
  const start = source.at;
  let pieces = 0;
  for (; ; pieces++) {
    skipContinuations(source);
    const character = source.text[source.at];
    if (character === undefined || WORD_END.test(character)) break;
    if (!/[0-9]/.test(character)) word.isNumber = false;
    const problem = readPiece(source, character, word, { ...options, isFirst: pieces === 0 });
    if (problem !== undefined) return { problem };
  }
  // Brace expansion needs a comma or two dots between braces; one pair without them is plain text.
  if (word.braces > 1 || (word.braces > 0 && word.hasComma)) return { problem: "braces are expanded" };
  const isBracket = source.text.slice(start, source.at) === "[";
  return {
    text: word.text,
    isOpen: word.isOpen && !isBracket,
    isNumber: word.isNumber && pieces > 0,
    hasBraces: word.braces > 0,
  };
}

export function skipContinuations(source: Source): void {
  while (source.text.startsWith("\\\n", source.at)) source.at += 2;
}

/** The text that a sticky pattern matches here; moves behind it. */
export function take(source: Source, pattern: RegExp): string | undefined {
  pattern.lastIndex = source.at;
  const found = pattern.exec(source.text)?.[0];
  source.at += found?.length ?? 0;
  return found;
}

type Growing = { text: string; isOpen: boolean; isNumber: boolean; braces: number; hasComma: boolean };
type PieceOptions = WordOptions & { isFirst: boolean };

/** Adds what one character begins. The sentence says why it cannot. */
function readPiece(source: Source, character: string, word: Growing, options: PieceOptions): string | undefined {
  switch (character) {
    case "'":
      return readSingle(source, word);
    case '"':
      return options.isFirst && options.kind === "argument" && source.text.startsWith('"$(', source.at)
        ? readDocument(source, word)
        : readDouble(source, word, options);
    case "\\":
      return readEscaped(source, word);
    case "$":
      return readVariable(source, word, options);
    case "~":
      return readTilde(source, word, options);
    case "{":
      return readBraces(source, word);
    case "*":
    case "?":
    case "[":
      return readGlob(source, character, word, options);
    case "`":
      return "a backtick runs a command";
    case "(":
    case ")":
      return "brackets group, define or substitute commands";
    case "}":
      return "braces are expanded";
    default:
      return readPlain(source, word);
  }
}

function readSingle(source: Source, word: Growing): string | undefined {
  const end = source.text.indexOf("'", source.at + 1);
  if (end === -1) return "a quote has no end";
  word.text += source.text.slice(source.at + 1, end);
  source.at = end + 1;
  return undefined;
}

const EXPANDED = '$ in "…" is expanded; use single quotes for plain text';

function readDouble(source: Source, word: Growing, { kind, home }: PieceOptions): string | undefined {
  for (source.at += 1; source.at < source.text.length; source.at++) {
    const character = source.text[source.at];
    if (character === '"') {
      source.at += 1;
      return undefined;
    }
    if (character === "$" && kind === "argument") {
      if (take(source, /\$\?/y) !== undefined) addStatus(word);
      else if (take(source, /\$HOME(?=["/ ])/y) !== undefined) addHome(word, home);
      else return EXPANDED;
      source.at -= 1;
      continue;
    }
    if (character === "$") return EXPANDED;
    if (character === "`") return "a backtick runs a command";
    const next = source.text[source.at + 1];
    if (character !== "\\" || next === undefined || !'"\\$`\n'.includes(next)) {
      word.text += character;
      continue;
    }
    if (next !== "\n") word.text += next;
    source.at += 1;
  }
  return "a quote has no end";
}

/** `"$(cat <<'X'`, a body that nothing replaces, `X`, `)"`: the word is the body without its last line breaks. */
function readDocument(source: Source, word: Growing): string | undefined {
  const opening = take(source, QUOTED_DOCUMENT);
  const name = /'(\w+)'/.exec(opening ?? "")?.[1];
  if (name === undefined) return "$(…) runs a command";
  const start = source.at;
  const end = source.text.startsWith(`${name}\n`, start) ? start : source.text.indexOf(`\n${name}\n`, start) + 1;
  if (end === 0) return "a here-document has no end";
  const body = source.text.slice(start, end);
  // Inside of $(…) some shells take a line for the end that only begins with the name.
  if (body.startsWith(name) || body.includes(`\n${name}`)) return "a line of the text inside $(…) begins like its end";
  source.at = end + name.length + 1;
  take(source, /[ \t]+/y);
  if (!source.text.startsWith(')"', source.at)) return "$(…) runs a command";
  source.at += 2;
  if (HAS_OLD_BASH && /['"`\\()]/.test(body)) return "the bash of this system may misread the text inside $(…)";
  if (source.at < source.text.length && !WORD_END.test(source.text[source.at] ?? "")) return "text follows $(…)";
  word.text += trimEndOf(body, "\n");
  return undefined;
}

function readEscaped(source: Source, word: Growing): string | undefined {
  const [character] = source.text.slice(source.at + 1, source.at + 3);
  if (character === undefined) return "a backslash ends it";
  if (UNSEEN.test(character) && character !== " " && character !== "\t") return unseen(character);
  word.text += character;
  source.at += 1 + character.length;
  return undefined;
}

function readVariable(source: Source, word: Growing, { kind, home }: PieceOptions): string | undefined {
  if (kind !== "argument" && kind !== "pattern") return VARIABLE;
  if (kind === "argument" && take(source, /\$\?/y) !== undefined) return addStatus(word);
  // After a line continuation, more of the name could follow.
  return take(source, /\$HOME(?=[/ \t\n;&|<>]|$)/y) === undefined ? VARIABLE : addHome(word, home);
}

const VARIABLE = "$ is expanded; only $HOME and $? are understood, and any $ in single quotes";

/** Reads `~`. At the start `~` and `~/` are the home folder; behind `=` and `:` the shell may replace it, too. */
function readTilde(source: Source, word: Growing, { kind, home, isFirst }: PieceOptions): string | undefined {
  if (kind === "literal" || (!isFirst && /[=:]$/.test(word.text))) return "~ is expanded here";
  source.at += 1;
  if (!isFirst) {
    word.text += "~";
    return undefined;
  }
  skipContinuations(source);
  const next = source.text[source.at];
  if (next !== undefined && next !== "/" && !WORD_END.test(next)) return "~ names the home folder of a user";
  return addHome(word, home);
}

/** Always a number, so it is one word and not an option. */
function addStatus(word: Growing): undefined {
  word.text += "0";
  word.isOpen = true;
}

/** A home folder with blanks or globs in its name would become several words, so the word is unknown then. */
function addHome(word: Growing, home: string | undefined): undefined {
  if (home !== undefined && /^\/[A-Za-z0-9_@%+:,./-]*$/.test(home)) word.text += home;
  else word.isOpen = true;
}

function readBraces(source: Source, word: Growing): string | undefined {
  const found = take(source, BRACES);
  if (found === undefined) return "braces are expanded";
  word.text += found;
  word.braces += 1;
  return undefined;
}

function readGlob(source: Source, character: string, word: Growing, { kind }: PieceOptions): string | undefined {
  if (kind === "pattern" && character !== "*" && source.text.slice(source.at) !== "[")
    return `${character} has no meaning in a pattern; only * stands for other text`;
  source.at += 1;
  word.text += kind === "pattern" && character === "*" ? WILDCARD : character;
  if (kind === "argument") word.isOpen = true;
  return undefined;
}

function readPlain(source: Source, word: Growing): string | undefined {
  const found = take(source, PLAIN);
  if (found !== undefined) {
    word.hasComma ||= found.includes(",");
    word.text += found;
    return undefined;
  }
  const character = String.fromCodePoint(source.text.codePointAt(source.at) ?? 0);
  if (UNSEEN.test(character)) return unseen(character);
  word.text += character;
  source.at += character.length;
  return undefined;
}

function unseen(character: string): string {
  const number = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return `it contains the character U+${number}`;
}

export function quoted(text: string): string {
  return /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}
