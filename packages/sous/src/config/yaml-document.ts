/** YAML that nobody has to trust: the core language only, in bounded time, with the place of every value. */

import { Composer, type Document } from "yaml";
import { type Place, readSource, type SourceText } from "./yaml-source.ts";
import { readTokens } from "./yaml-tokens.ts";
import { type Path, type Positions, toValue } from "./yaml-value.ts";

export type YamlProblem = Place & { readonly file: string; readonly message: string; readonly fix: string };

export type YamlDocument = {
  /** Objects without a prototype, lists, strings, numbers, booleans and null; null when there is nothing or a problem. */
  readonly value: unknown;
  /** Where the value at a path begins, or its key; for what is not there, where its nearest parent is. */
  at(path: Path, part?: "key" | "value"): Place;
  /** In the order of the file. When there is one, `value` is not to be used. */
  readonly problems: readonly YamlProblem[];
};

export type YamlOptions = {
  /** As it is named to people. */
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
  const { text, placeOf } = read.source;
  const refused = (found: readonly Found[]): YamlDocument => ({
    value: null,
    at: () => first,
    problems: inOrder(found).map(({ offset, message, fix }) => ({ file, ...placeOf(offset), message, fix })),
  });
  const syntax = readTokens(text);
  if ("problem" in syntax) return refused([syntax.problem]);
  const composer = new Composer({ version: "1.2", schema: "core", uniqueKeys: false, prettyErrors: false });
  const [document] = [...composer.compose(syntax.tokens, true, text.length)];
  if (document === undefined) return { value: null, at: () => first, problems: [] };
  if (document.errors.length > 0) return refused(document.errors.map((error) => explain(error, text)));
  const { value, positions, problems } = toValue(document.contents);
  if (problems.length > 0) return refused(problems);
  return { value, at: (path, part) => placeAt(positions, path, part, placeOf), problems: [] };
}

type Found = { readonly offset: number; readonly message: string; readonly fix: string };

function inOrder(found: readonly Found[]): Found[] {
  return [...found].sort((one, other) => one.offset - other.offset).slice(0, MAX_PROBLEMS);
}

function placeAt(positions: Positions, path: Path, part: "key" | "value" = "value", placeOf: SourceText["placeOf"]) {
  for (let length = path.length; length >= 0; length--) {
    const found = positions.get(path.slice(0, length));
    // Of a parent, the key is what people look for.
    if (found !== undefined) return placeOf(length < path.length || part === "key" ? found.key : found.value);
  }
  return placeOf(0);
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
