/** From text to the syntax of YAML, in bounded time: what is too deep, too much or not the core language ends the reading at once. */

import { CST, Lexer, Parser } from "yaml";

export type SyntaxProblem = { readonly offset: number; readonly message: string; readonly fix: string };

/** Far more than a person writes; it bounds the time, which grows with the number of parts and not with the bytes. */
const MAX_PARTS = 20_000;
const MAX_SYNTAX_ERRORS = 20;
/** Of the parser's stack, which has more than one level for a level that people see. */
const MAX_STACK = 100;
const CORE_TAGS = new Set(["!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq"]);

export function readTokens(text: string): { tokens: CST.Token[] } | { problem: SyntaxProblem } {
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
      return { problem: { offset, message: "there is more than one document", fix: "remove what follows the ---" } };
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

/** Before it is parsed: a tag may make anything of a value, and a directive may make anything of a tag. */
function refuse(part: string): Omit<SyntaxProblem, "offset"> | undefined {
  const type = CST.tokenType(part);
  if (type === "tag" && !CORE_TAGS.has(part)) {
    const message = `the tag ${part.slice(0, 60)} is not allowed`;
    return { message, fix: "remove the tag; only plain YAML values are read" };
  }
  if (type === "directive-line") return { message: "directives (%) are not allowed", fix: "remove the line" };
  return part.startsWith('"') ? refuseEscape(part) : undefined;
}

/** The parser would make an error of each, and a line can have half a million. */
function refuseEscape(part: string): Omit<SyntaxProblem, "offset"> | undefined {
  for (const [found] of part.matchAll(ESCAPE)) {
    if (found !== "\\" && !(found[1] === "U" && Number.parseInt(found.slice(2), 16) > LAST_CODE_POINT)) continue;
    return {
      message: "there is an unknown escape in double quotes",
      fix: "write \\\\ for a backslash, or use single quotes",
    };
  }
  return undefined;
}

const LAST_CODE_POINT = 0x10ffff;
/** Every escape of YAML; a backslash alone is none of them. */
const ESCAPE = /\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0abtnvfreNLP_ "/\\\t\r\n])|\\/g;
