/**
 * A generous reading of a shell command, for rules that forbid: every program it might start, wherever it stands. What
 * is known only when it runs is a hole that may become anything.
 */

import { MAX_COMMAND_LENGTH, MAX_PARTS } from "./shell-command.ts";

/** Stands for text that nobody knows yet. */
export const HOLE = "\0";

/** Undefined when the command is over a limit, so that nothing can be said about it. */
export function readSuspects(text: string): string[][] | undefined {
  if (text.length > MAX_COMMAND_LENGTH) return undefined;
  // Line by line as well: a quote in a comment or in a here-document must not hide the lines after it.
  // And `&>` is an arrow to bash, the end of a command to others.
  const texts = [text, ...(text.includes("\n") ? text.split("\n") : [])];
  const twins = texts.filter((each) => each.includes("&>")).map((each) => each.replaceAll("&>", ">"));
  const readings = [...texts, ...twins].map(readOnce);
  const [whole] = readings;
  if (whole === undefined || readings.some((parts) => parts === undefined)) return undefined;
  return whole.length > MAX_PARTS ? undefined : readings.flatMap((parts) => parts ?? []);
}

const MAX_NESTING = 20;

type Reader = { text: string; at: number; nesting: number; parts: string[][] };

function readOnce(text: string): string[][] | undefined {
  const reader: Reader = { text, at: 0, nesting: 0, parts: [] };
  const isRead = readParts(reader, undefined);
  return isRead ? reader.parts.map(withoutPrefix).filter((words) => words.length > 0) : undefined;
}

/** Reads up to the closing character, or to the end. False when it nests too deep. */
function readParts(reader: Reader, closing: string | undefined): boolean {
  if (++reader.nesting > MAX_NESTING) return false;
  let words: string[] = [];
  let word: string | undefined;
  let isTarget = false;
  const endWord = (): void => {
    if (word === undefined) return;
    if (!isTarget) words.push(word);
    isTarget = false;
    word = undefined;
  };
  const endPart = (): void => {
    endWord();
    if (words.length > 0) reader.parts.push(words);
    words = [];
    isTarget = false;
  };
  while (reader.at < reader.text.length) {
    const character = reader.text[reader.at] ?? "";
    reader.at += 1;
    if (character === closing) break;
    if (character === "\\" && next(reader) === "\n") {
      reader.at += 1;
      continue;
    }
    if (/[;&|\n)]/.test(character)) endPart();
    else if (/[\s\p{C}\p{Z}]/u.test(character) && character !== HOLE) endWord();
    else if (character === "#" && word === undefined) skipComment(reader);
    else if (character === "<" || character === ">") {
      // The number before an arrow belongs to it, and the word after it is a file and no argument.
      if (word !== undefined && /^\d+$/.test(word)) word = undefined;
      endWord();
      while (/[<>&|]/.test(reader.text[reader.at] ?? "")) reader.at += 1;
      isTarget = true;
    } else if (character === "(") {
      endWord();
      if (!readParts(reader, ")")) return false;
      if (isTarget) word = HOLE;
      isTarget = false;
    } else if ((character === "{" || character === "}") && word === undefined && /\s|^$/.test(next(reader))) {
      endPart();
    } else {
      const piece = readPiece(reader, character);
      if (piece === undefined) return false;
      word = (word ?? "") + piece;
    }
  }
  endPart();
  reader.nesting -= 1;
  return true;
}

/** What one character begins: itself, something quoted, or a hole. Undefined when it nests too deep. */
function readPiece(reader: Reader, character: string): string | undefined {
  switch (character) {
    case "'":
      return take(reader, "'");
    case '"':
      return readDouble(reader);
    case "\\": {
      const escaped = next(reader);
      reader.at += 1;
      return escaped;
    }
    case "$":
      return readExpansion(reader);
    case "`":
      return readParts(reader, "`") ? HOLE : undefined;
    case "*":
    case "?":
    case "[":
    case "{":
    case "}":
    case "~":
      return HOLE;
    default:
      return character;
  }
}

function readDouble(reader: Reader): string | undefined {
  let value = "";
  while (reader.at < reader.text.length) {
    const character = next(reader);
    reader.at += 1;
    if (character === '"') return value;
    if (character === "\\" && /["\\$`\n]/.test(next(reader))) {
      if (next(reader) !== "\n") value += next(reader);
      reader.at += 1;
    } else if (character === "$" || character === "`") {
      const piece = readPiece(reader, character);
      if (piece === undefined) return undefined;
      value += piece;
    } else value += character;
  }
  return value + HOLE;
}

/** After a `$`. */
function readExpansion(reader: Reader): string | undefined {
  const opening = next(reader);
  const closing = opening === "(" ? ")" : opening === "{" ? "}" : undefined;
  if (closing !== undefined) {
    reader.at += 1;
    return readParts(reader, closing) ? HOLE : undefined;
  }
  if (opening === "'") {
    // Its escapes can spell anything.
    reader.at += 1;
    while (reader.at < reader.text.length && next(reader) !== "'") reader.at += next(reader) === "\\" ? 2 : 1;
    reader.at += 1;
    return HOLE;
  }
  if (opening === '"') return "";
  const name = /^(?:\w+|[@*#?$!-])/.exec(reader.text.slice(reader.at))?.[0];
  reader.at += name?.length ?? 0;
  return name === undefined ? "$" : HOLE;
}

function take(reader: Reader, closing: string): string {
  const end = reader.text.indexOf(closing, reader.at);
  const value = reader.text.slice(reader.at, end === -1 ? undefined : end);
  reader.at = end === -1 ? reader.text.length : end + 1;
  return end === -1 ? value + HOLE : value;
}

function skipComment(reader: Reader): void {
  while (reader.at < reader.text.length && next(reader) !== "\n") reader.at += 1;
}

function next({ text, at }: Reader): string {
  return text[at] ?? "";
}

const BEFORE_A_PROGRAM =
  /^(?:if|then|else|elif|do|while|until|!|time|-p|--|coproc|function|\{|[A-Za-z_]\w*(?:\[.*\])?\+?=.*)$/s;

/** Without assignments and words like `then`: what is left begins with a program. */
function withoutPrefix(words: string[]): string[] {
  const first = words.findIndex((word) => !BEFORE_A_PROGRAM.test(word));
  return first === -1 ? [] : words.slice(first);
}
