/** Untrusted YAML: the core language only, in bounded time, with the position of every value. */

import { isUtf8 } from "node:buffer";
import { Composer, CST, type Document, Lexer, Parser } from "yaml";
import { type Found, type Path, type Positions, toValue } from "./value.ts";

type YamlProblem = Position & { readonly file: string; readonly message: string; readonly fix: string };

export type YamlDocument = {
  /** Objects without a prototype, lists, strings, numbers, booleans and null; null when there is nothing or a problem. */
  readonly value: unknown;
  /** The place where the value at a path begins, or its key; for one that is missing, the place of its nearest parent. */
  at(path: Path, part?: "key" | "value"): Position;
  /** The problems in the order of the file. When there is one, `value` is not to be used. */
  readonly problems: readonly YamlProblem[];
};

type YamlOptions = {
  /** The file as it is named to people. */
  readonly file: string;
  readonly maxBytes: number;
  /** The number of the first line, when the text is a part of a file. */
  readonly firstLine?: number | undefined;
};

const MAX_PROBLEMS = 20;

/** Never throws, whatever it is given. */
export function readYaml(given: string | Uint8Array, { file, maxBytes, firstLine = 1 }: YamlOptions): YamlDocument {
  const first = { line: firstLine, column: 1 };
  const read = readSource(given, { maxBytes, firstLine });
  if ("problem" in read) return { value: null, at: () => first, problems: [{ file, ...read.problem }] };
  const { text, positionOf } = read.source;
  const refused = (found: readonly Found[]): YamlDocument => ({
    value: null,
    at: () => first,
    problems: inOrder(found).map(({ offset, message, fix }) => ({ file, ...positionOf(offset), message, fix })),
  });
  const syntax = readTokens(text);
  if ("problem" in syntax) return refused([syntax.problem]);
  const composer = new Composer({ version: "1.2", schema: "core", uniqueKeys: false, prettyErrors: false });
  // One is asked for, so there is one, also of an empty text.
  const [document, second] = [...composer.compose(syntax.tokens, true, text.length)] as [
    Document.Parsed,
    ...Document.Parsed[],
  ];
  // A second document may begin without dashes behind a line `...`.
  if (second !== undefined) return refused([{ offset: second.range[0], ...SECOND }]);
  if (document.errors.length > 0) return refused(document.errors.map((error) => explain(error, text)));
  const { value, positions, problems } = toValue(document.contents);
  if (problems.length > 0) return refused(problems);
  return { value, at: (path, part) => positionAt(positions, path, part, positionOf), problems: [] };
}

function inOrder(found: readonly Found[]): Found[] {
  return [...found].sort((one, other) => one.offset - other.offset).slice(0, MAX_PROBLEMS);
}

function positionAt(
  positions: Positions,
  path: Path,
  part: "key" | "value" = "value",
  positionOf: SourceText["positionOf"],
) {
  for (let length = path.length; length >= 0; length--) {
    const found = positions.get(path.slice(0, length));
    // People look for the key of a parent.
    if (found !== undefined) return positionOf(length < path.length || part === "key" ? found.key : found.value);
  }
  return positionOf(0);
}

/** The words of the parser, in plainer ones where people meet them often. */
function explain({ code, message, pos }: Document.Parsed["errors"][number], text: string): Found {
  const [offset] = pos;
  const plain = /^Flow .* end with/.test(message) ? UNCLOSED : PLAIN[code];
  if (plain !== undefined) return { offset: Math.min(offset, text.length), ...plain };
  const sentence = message.split("\n", 1)[0] ?? "";
  return { offset, message: `this is not YAML: ${sentence.slice(0, 200)}`, fix: "correct the syntax of this line" };
}

const UNCLOSED = { message: "a [ or { above this line is not closed", fix: "close it with ] or }" };

const PLAIN: Partial<Record<string, Omit<Found, "offset">>> = {
  TAB_AS_INDENT: { message: "tabs are not allowed as indentation", fix: "indent with spaces" },
  BAD_INDENT: {
    message: "the indentation is not that of its neighbours",
    fix: "indent the lines of one level equally",
  },
};

/** Both begin with 1; a column counts UTF-16 units, as editors do. */
type Position = { readonly line: number; readonly column: number };

type SourceText = {
  readonly text: string;
  positionOf(offset: number): Position;
};

/** `firstLine` is the number of the first line when the text is a part of a file. */
function readSource(
  given: string | Uint8Array,
  { maxBytes, firstLine = 1 }: Omit<YamlOptions, "file">,
): { source: SourceText } | { problem: Omit<YamlProblem, "file"> } {
  const bytes = typeof given === "string" ? Buffer.byteLength(given) : given.byteLength;
  if (bytes > maxBytes) {
    const message = `the text has ${bytes} bytes (allowed: ${maxBytes})`;
    return { problem: { line: firstLine, column: 1, message, fix: "make it smaller" } };
  }
  if (typeof given !== "string" && !isUtf8(given)) {
    const position = firstBadByte(Buffer.from(given.buffer, given.byteOffset, given.byteLength), firstLine);
    return { problem: { ...position, message: "the text is not UTF-8", fix: "save the file as UTF-8" } };
  }
  const decoded = typeof given === "string" ? given : new TextDecoder("utf-8", { ignoreBOM: true }).decode(given);
  const text = decoded.startsWith("\ufeff") ? decoded.slice(1) : decoded;
  const source = { text, positionOf: positionsIn(text, firstLine) };
  const control = FORBIDDEN.exec(text);
  if (control === null) return { source };
  const point = text.charCodeAt(control.index).toString(16).toUpperCase().padStart(4, "0");
  return {
    problem: {
      ...source.positionOf(control.index),
      message: `the character U+${point} is not allowed in YAML`,
      fix: 'remove it, or write it as an escape in double quotes, such as "\\u001b"',
    },
  };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u0084\u0086-\u009f\ufffe\uffff]|\p{Cs}/u;

function firstBadByte(bytes: Buffer, firstLine: number): Position {
  let line = firstLine;
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(0x0a, start);
    const part = bytes.subarray(start, end === -1 ? bytes.length : end);
    if (!isUtf8(part) || end === -1) return { line, column: Math.max(0, part.toString("utf8").indexOf("\ufffd")) + 1 };
    start = end + 1;
    line += 1;
  }
}

function positionsIn(text: string, firstLine: number): SourceText["positionOf"] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: firstLine + low, column: offset - (starts[low] ?? 0) + 1 };
  };
}

/** Far more than a person writes; it bounds the time, which grows with the number of parts and not with the bytes. */
const MAX_PARTS = 20_000;
const MAX_SYNTAX_ERRORS = 20;
/** Max depth of the parser's stack, which has more than one level for a level that people see. */
const MAX_STACK = 100;
const CORE_TAGS = new Set(["!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq"]);

const SECOND = { message: "there is more than one document", fix: "remove the line --- or ... above this one" };

/** Parses text to the syntax of YAML, in bounded time: what is too deep, too much or not the core language ends it at once. */
function readTokens(text: string): { tokens: CST.Token[] } | { problem: Found } {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  let [parts, errors, documents] = [0, 0, 0];
  let isScalar = false;
  for (const part of new Lexer().lex(text)) {
    const { offset } = parser;
    const refusal = isScalar ? undefined : refuse(part);
    if (refusal !== undefined) return { problem: { offset, ...refusal } };
    isScalar = !isScalar && part === CST.SCALAR;
    for (const token of parser.next(part)) {
      tokens.push(token);
      if (token.type === "error") errors += 1;
      if (token.type === "document") documents += 1;
    }
    parts += 1;
    if (documents > 1 || (documents === 1 && part === "---" && !isScalar && offset > 0)) {
      return { problem: { offset, ...SECOND } };
    }
    if (parser.stack.length > MAX_STACK) {
      return { problem: { offset, message: "the values are nested too deeply", fix: "use fewer levels" } };
    }
    if (parts > MAX_PARTS || errors > MAX_SYNTAX_ERRORS) {
      return { problem: { offset, message: "the text has too many parts", fix: "make it smaller" } };
    }
  }
  tokens.push(...parser.end());
  return { tokens };
}

/** Refuses a part before it is parsed: a tag may make anything of a value, and a directive may make anything of a tag. */
function refuse(part: string): Omit<Found, "offset"> | undefined {
  const type = CST.tokenType(part);
  if (type === "tag" && !CORE_TAGS.has(part)) {
    const message = `the tag ${part.slice(0, 60)} is not allowed`;
    return { message, fix: "remove the tag; only plain YAML values are read" };
  }
  if (type === "directive-line") return { message: "directives (%) are not allowed", fix: "remove the line" };
  return part.startsWith('"') ? refuseEscape(part) : undefined;
}

/** The parser would make an error of each, and a line can have half a million. */
function refuseEscape(part: string): Omit<Found, "offset"> | undefined {
  for (const [found] of part.matchAll(ESCAPE)) {
    if (found !== "\\" && !(found[1] === "U" && Number.parseInt(found.slice(2), 16) > LAST_CODE_POINT)) continue;
    const fix = "write \\\\ for a backslash, or use single quotes";
    return { message: "there is an unknown escape in double quotes", fix };
  }
  return undefined;
}

const LAST_CODE_POINT = 0x10ffff;
/** Every escape of YAML; a backslash alone is none of them. */
const ESCAPE = /\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0abtnvfreNLP_ "/\\\t\r\n])|\\/g;
