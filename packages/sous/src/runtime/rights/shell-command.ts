/**
 * Reads a shell command: simple commands joined by `;` `&&` `||` `|` `&` and line ends, with plain redirections. What
 * is outside of this grammar is a problem and not a guess: nothing that evaluates is read.
 */

import { HereDocuments } from "./here-documents.ts";
import {
  readWord,
  type ShellProblem,
  type ShellWord,
  type Source,
  skipContinuations,
  take,
  WILDCARD,
  type WrittenWord,
} from "./shell-words.ts";

type Joint = ";" | "&&" | "||" | "|" | "&";

/** A file that the shell opens by itself. What only joins streams, and here-documents, are not listed. */
export type Redirection = { readonly kind: "read" | "write"; readonly target: ShellWord };

type Assignment = { readonly name: string; readonly value: string };

export type SimpleCommand = {
  /** The joint before it; undefined for the first. */
  readonly joint: Joint | undefined;
  readonly assignments: readonly Assignment[];
  /** The program and its arguments. */
  readonly words: readonly ShellWord[];
  readonly redirections: readonly Redirection[];
  /** True when it joins streams or reads a here-document, which open no file. */
  readonly hasStreams: boolean;
};

type ShellReading = {
  /** All of them, or those before the problem. */
  readonly commands: readonly SimpleCommand[];
  /** The reason why the whole is not understood; undefined when it is. */
  readonly problem: string | undefined;
};

type ShellOptions = {
  readonly home?: string | undefined;
  /** True for the pattern of a rule: an unquoted `*` is a character of a word. */
  readonly isPattern?: boolean | undefined;
};

const MAX_COMMAND_LENGTH = 16_384;
const MAX_COMMANDS = 50;
/** Max redirections of one simple command. */
const MAX_FILES = 10;

/** Characters that no quote makes harmless: they move the cursor, or stand for something else here. */
const UNREADABLE = /[\p{Cc}\p{Co}\p{Cs}]/gu;

export function readShellCommand(text: string, options: ShellOptions = {}): ShellReading {
  if (text.length > MAX_COMMAND_LENGTH) return unclear(`it is longer than ${MAX_COMMAND_LENGTH} characters`);
  for (const [character] of text.matchAll(UNREADABLE)) {
    if (character !== "\t" && character !== "\n") return unclear(`it contains ${JSON.stringify(character)}`);
  }
  const reader = new CommandReader(text, options);
  const problem = reader.read();
  return { commands: reader.commands, problem };
}

type Growing = {
  joint: Joint | undefined;
  assignments: Assignment[];
  words: ShellWord[];
  redirections: Redirection[];
  hasStreams: boolean;
  /** True behind `&>`, where other shells than bash begin a new command, so no word may follow. */
  isClosed: boolean;
};

class CommandReader {
  readonly commands: SimpleCommand[] = [];
  readonly #source: Source;
  readonly #options: ShellOptions;
  #current: Growing = newCommand(undefined);
  readonly #documents = new HereDocuments();

  constructor(text: string, options: ShellOptions) {
    this.#source = { text, at: 0 };
    this.#options = options;
  }

  /** The problem, if there is one. */
  read(): string | undefined {
    const source = this.#source;
    for (;;) {
      take(source, /[ \t]+/y);
      if (source.text.startsWith("\\\n", source.at)) {
        skipContinuations(source);
        continue;
      }
      const character = source.text[source.at];
      if (character === undefined) return this.#finish();
      const problem = this.#readToken(character);
      if (problem !== undefined) return problem;
    }
  }

  #readToken(character: string): string | undefined {
    if (character === "#") return void take(this.#source, /#[^\n]*/y);
    if (character === "\n") return this.#endLine();
    if (/[<>]/.test(character) || (character === "&" && this.#isArrow())) return this.#readRedirection();
    return /[;|&]/.test(character) ? this.#readJoint() : this.#readNext();
  }

  #finish(): string | undefined {
    if (this.#documents.areOpen) return "a here-document has no end";
    const problem = this.#endCommand();
    if (problem !== undefined) return problem;
    if (this.#needsMore() || this.commands.length === 0) return "it is not complete";
    return undefined;
  }

  /** True behind `&&`, `||` and `|`, where a command must follow. */
  #needsMore(): boolean {
    return this.#current.joint !== undefined && /^(?:&&|\|\|?)$/.test(this.#current.joint);
  }

  #isEmpty(): boolean {
    const { words, assignments, redirections } = this.#current;
    return words.length + assignments.length + redirections.length === 0;
  }

  /** Puts the current command to the others, if there is one. */
  #endCommand(): string | undefined {
    if (this.#isEmpty()) return undefined;
    if (this.#current.words.length === 0) return "a part of it names no program";
    if (this.commands.length >= MAX_COMMANDS) return `it has more than ${MAX_COMMANDS} parts`;
    this.commands.push(this.#current);
    this.#current = newCommand(undefined);
    return undefined;
  }

  #endLine(): string | undefined {
    this.#source.at += 1;
    const unread = this.#documents.readBodies(this.#source);
    if (unread !== undefined) return unread;
    if (this.#isEmpty()) return undefined;
    const problem = this.#endCommand();
    this.#current = newCommand(";");
    return problem;
  }

  #readJoint(): string | undefined {
    const first = this.#takeCharacter();
    skipContinuations(this.#source);
    const second = this.#source.text[this.#source.at];
    const isDouble = second === first && first !== ";";
    if (isDouble) this.#source.at += 1;
    else if (second === first || (first === ";" && second === "&")) return `${first}${second} is not known`;
    // Both streams go into the pipe.
    else if (first === "|" && second === "&") {
      this.#source.at += 1;
      this.#current.hasStreams = true;
    }
    const joint = (isDouble ? first + second : first) as Joint;
    if (this.#isEmpty()) return `nothing stands before ${joint}`;
    const problem = this.#endCommand();
    this.#current = newCommand(joint);
    return problem;
  }

  /** `&>` sends both streams to a file. */
  #isArrow(): boolean {
    const next = { text: this.#source.text, at: this.#source.at + 1 };
    skipContinuations(next);
    return next.text[next.at] === ">";
  }

  #readRedirection(): string | undefined {
    const source = this.#source;
    if (this.#options.isPattern) return "it redirects input or output";
    let arrow = this.#takeCharacter();
    for (skipContinuations(source); /[<>&|]/.test(source.text[source.at] ?? ""); skipContinuations(source)) {
      arrow += this.#takeCharacter();
    }
    this.#current.isClosed ||= arrow.startsWith("&");
    this.#current.hasStreams ||= /&$|<</.test(arrow);
    if (arrow === "<<") return this.#documents.readName(source);
    if (arrow === ">&" || arrow === "<&") {
      return take(source, /[0-9](?=[ \t\n;&|<>]|$)/y) === undefined ? `${arrow} needs one digit` : undefined;
    }
    if (!/^(?:<|&?>>?|>\|)$/.test(arrow)) return `${arrow} is not known`;
    take(source, /[ \t]+/y);
    skipContinuations(source);
    take(source, /[ \t]+/y);
    if (source.text[source.at] === "#") return `a comment follows ${arrow}`;
    const target = readWord(source, { kind: "argument", home: this.#options.home });
    if ("problem" in target) return target.problem;
    if (target.isNumber && this.#isBeforeArrow()) return `nothing stands behind ${arrow}`;
    if (target.isOpen || target.text === "") return `the file behind ${arrow} is not known`;
    if (this.#current.redirections.length >= MAX_FILES) return `it opens more than ${MAX_FILES} files`;
    this.#current.redirections.push({ kind: arrow === "<" ? "read" : "write", target });
    return this.#refuseArrowAfter(target);
  }

  /** An assignment or a word. */
  #readNext(): string | undefined {
    const source = this.#source;
    const { words, assignments } = this.#current;
    const isStart = words.length === 0;
    const name = isStart && !this.#options.isPattern ? this.#takeAssigned() : undefined;
    if (name !== undefined) {
      const value = readWord(source, { kind: "literal" });
      if ("problem" in value) return value.problem;
      assignments.push({ name, value: value.text });
      return this.#refuseArrowAfter(value);
    }
    const word = this.#readWordAt(isStart);
    if ("problem" in word) return word.problem;
    // Before an arrow it is the number of a stream.
    if (word.isNumber && this.#isBeforeArrow()) return word.text.length === 1 ? undefined : "a stream has one digit";
    if (this.#current.isClosed) return "words follow &>";
    if (isStart && !isProgram(word.text.replaceAll(WILDCARD, "*")))
      return `${word.text || "''"} is not the name of a program`;
    words.push({ text: word.text, isOpen: word.isOpen });
    return this.#refuseArrowAfter(word);
  }

  /** The name in front of `=`, behind which it stands then. */
  #takeAssigned(): string | undefined {
    const start = this.#source.at;
    const name = take(this.#source, /[A-Za-z_][A-Za-z0-9_]*/y);
    if (name !== undefined && this.#source.text[this.#source.at] === "=") {
      this.#source.at += 1;
      return name;
    }
    this.#source.at = start;
    return undefined;
  }

  #readWordAt(isStart: boolean): WrittenWord | ShellProblem {
    if (this.#options.isPattern) return readWord(this.#source, { kind: "pattern", home: this.#options.home });
    const start = this.#source.at;
    const word = readWord(this.#source, { kind: "argument", home: this.#options.home });
    if (!isStart || "problem" in word) return word;
    const isExpanded = word.isOpen || /[~$]/.test(this.#source.text.slice(start, this.#source.at));
    return isExpanded ? { problem: "its program is known only when it runs" } : word;
  }

  /** `{name}>file` sets a variable. */
  #refuseArrowAfter({ hasBraces }: WrittenWord): string | undefined {
    return hasBraces && this.#isBeforeArrow() ? "a variable stands before an arrow" : undefined;
  }

  #isBeforeArrow(): boolean {
    return /[<>]/.test(this.#source.text[this.#source.at] ?? "");
  }

  #takeCharacter(): string {
    const character = this.#source.text[this.#source.at] ?? "";
    this.#source.at += 1;
    return character;
  }
}

const KEYWORDS = new Set(
  "if then else elif fi do done case esac while until for in select function coproc ! { } [[ ]]".split(" "),
);

/**
 * False for a word of the shell's own language, for a job (`%1`), for what would be an assignment without its quotes, and
 * for letters that some file systems take for others.
 */
export function isProgram(word: string): boolean {
  return /^[!-$&-<>-~ ][!-<>-~ ]*$/.test(word) && word.length <= MAX_PROGRAM && !KEYWORDS.has(word);
}

const MAX_PROGRAM = 1024;

function newCommand(joint: Joint | undefined): Growing {
  return { joint, assignments: [], words: [], redirections: [], hasStreams: false, isClosed: false };
}

function unclear(problem: string): ShellReading {
  return { commands: [], problem };
}
