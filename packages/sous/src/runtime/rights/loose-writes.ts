/**
 * The files that a shell would write in a text that is not understood as a whole. Only redirections are looked for, with as much of the
 * grammar as it takes to find them; what is not surely one file is unknown.
 */

import { isAbsolute, join } from "node:path";
import { readWord, type Source, take } from "./shell-words.ts";

export type LooseWrites = {
  /** Relative to the workspace with `..` as it was written, or absolute. Several where the shell may be in several folders. */
  readonly paths: readonly string[];
  /** Words behind an arrow that may be any file. */
  readonly unknown: readonly string[];
  /** Plain words behind an arrow in quotes, in comments and in here-documents, which another shell may be given. */
  readonly quoted: readonly string[];
};

type Context = { readonly home?: string | undefined; readonly folder?: string | undefined };

/** These join streams, or discard what they get. */
const HARMLESS_FILE = /^\/dev\/(?:null|stdin|stdout|stderr|tty)$/;
const MAX_FOLDERS = 16;
const MAX_SHOWN = 60;
/** Each is looked up. */
const MAX_PATHS = 500;

export function looseWrites(text: string, { home, folder = "." }: Context): LooseWrites {
  const folders = foldersIn(text, folder, home);
  const paths = new Set<string>();
  const unknown: string[] = [];
  for (const { word, written } of arrowsIn(text, home)) {
    if (word === undefined || (folders === undefined && !isAbsolute(word))) unknown.push(written.slice(0, MAX_SHOWN));
    else if (!HARMLESS_FILE.test(word)) for (const path of below(folders, word)) paths.add(path);
  }
  const words = [...text.matchAll(/>[>|&]?[ \t]*["'\\]*([\w@%+:,./-]+)/g)].map(([, word = ""]) => word);
  const quoted = words.filter((word) => !HARMLESS_FILE.test(word)).flatMap((word) => below(folders ?? [folder], word));
  if (paths.size > MAX_PATHS) unknown.push("one of very many");
  return { paths: [...paths].slice(0, MAX_PATHS), unknown, quoted: [...new Set(quoted)].slice(0, MAX_PATHS) };
}

function below(folders: readonly string[] = [], path: string): string[] {
  return isAbsolute(path) ? [path] : folders.map((each) => `${each}/${path}`);
}

/** Every folder that a `cd` may lead to, wherever it stands; undefined when one of them is not known. */
function foldersIn(text: string, start: string, home: string | undefined): readonly string[] | undefined {
  const folders = new Set([start]);
  for (const { index, 0: found } of text.matchAll(/(?<![\w./-])(?:cd|chdir|pushd|popd)(?![\w./-])/g)) {
    const source = { text, at: index + found.length };
    let word = nextWord(source, home);
    while (word?.text !== undefined && /^-(?:[LPe@n]+|-)$/.test(word.text)) word = nextWord(source, home);
    const into = word === undefined && found !== "popd" && found !== "pushd" ? home : word?.text;
    if (into === undefined || into === "" || /^[-+]/.test(into)) return undefined;
    const next = [...folders].map((each) => (isAbsolute(into) ? into : join(each, into)));
    // The commands behind `&&` alone are not reached when the first `cd` fails.
    const isFirst = text.slice(0, index).trim() === "";
    if (isFirst && /^[ \t]*&&/.test(text.slice(source.at)) && !OTHER_JOINT.test(text)) folders.clear();
    for (const each of next) folders.add(each);
    if (folders.size > MAX_FOLDERS) return undefined;
  }
  return [...folders];
}

const OTHER_JOINT = /[;\n]|\|\||(?<![&>])&(?![&>])/;

type Arrow = { readonly word: string | undefined; readonly written: string };

const CLOSING: Readonly<Record<string, string>> = { '"': '"', "(": ")", "`": "`" };

/** The words behind the arrows that write, outside of quotes, comments and the bodies of here-documents. */
function arrowsIn(text: string, home: string | undefined): Arrow[] {
  const source: Source = { text, at: 0 };
  const found: Arrow[] = [];
  const open: string[] = [];
  const documents: string[] = [];
  while (source.at < text.length) {
    const character = text[source.at] ?? "";
    const isQuoted = open.at(-1) === '"';
    if (take(source, /\\[\s\S]/y) !== undefined) continue;
    if (!isQuoted && take(source, /\$'(?:\\[\s\S]|[^'\\])*'|'[^']*'|(?<![^\s;&|()])#[^\n]*/y) !== undefined) continue;
    if (CLOSING[open.at(-1) ?? ""] === character) open.pop();
    else if (isQuoted ? character === "`" || text.startsWith("$(", source.at) : character in CLOSING) {
      if (character === "$") source.at += 1;
      open.push(text[source.at] ?? "");
    } else if (!isQuoted && character === "\n") {
      skipBodies(source, documents.splice(0));
      continue;
    } else if (!isQuoted && /[<>]/.test(character)) {
      const name = take(source, /<<-?[ \t]*(?!<)["'\\]*[\w.-]+/y)?.replace(/^<<-?[ \t]*["'\\]*/, "");
      if (name !== undefined) documents.push(name);
      else if (take(source, /<<<|<(?!>)|>&(?:[0-9]+-?|-)(?![^\s;&|<>()`])|>(?=\()/y) === undefined)
        found.push(arrowAt(source, home));
      continue;
    }
    source.at += 1;
  }
  return found;
}

function arrowAt(source: Source, home: string | undefined): Arrow {
  take(source, /<>|>>|>\||>&|>/y);
  const start = source.at;
  const word = nextWord(source, home);
  const written = source.text.slice(start, source.at).trim();
  // A command inside of the word may write, too.
  if (word?.text === undefined) source.at = start;
  return { word: word?.text, written };
}

/** Undefined at the end of a command; `text` is undefined for a word that is known only when the command runs. */
function nextWord(source: Source, home: string | undefined): { text: string | undefined } | undefined {
  take(source, /(?:[ \t]|\\\n)+/y);
  const start = source.at;
  source.at = endOfWord(source.text, start);
  const written = source.text.slice(start, source.at);
  if (written === "") return source.text[source.at] === "(" ? { text: undefined } : undefined;
  const word = readWord({ text: written, at: 0 }, { kind: "argument", home });
  const isCut = /[(`]/.test(source.text[source.at] ?? "");
  return { text: "problem" in word || word.isOpen || isCut || word.text === "" ? undefined : word.text };
}

function endOfWord(text: string, start: number): number {
  let quote = "";
  for (let at = start; at < text.length; at++) {
    const character = text[at] ?? "";
    if (character === "\\" && quote !== "'") at += 1;
    else if (quote !== "") quote = character === quote ? "" : quote;
    else if (/['"]/.test(character)) quote = character;
    else if (/[\s;&|<>()`]/.test(character)) return at;
  }
  return text.length;
}

function skipBodies(source: Source, names: readonly string[]): void {
  source.at += 1;
  for (const name of names) {
    for (let line: string | undefined; line !== name && source.at < source.text.length; ) {
      const end = source.text.indexOf("\n", source.at);
      line = source.text.slice(source.at, end === -1 ? undefined : end).replace(/^\t+/, "");
      source.at = end === -1 ? source.text.length : end + 1;
    }
  }
}
