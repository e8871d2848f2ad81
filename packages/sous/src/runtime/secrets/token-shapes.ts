/** Tokens that are known by how they begin, as their issuers document them. */

import type { Span } from "./redact.ts";

type Shape = {
  name: string;
  /** The token from its first character on. Every repetition is bounded: no text is looked at again and again, none is too long. */
  pattern: RegExp;
  /** Ordinary names begin like this, too, so what follows must look random. */
  isCommon?: true;
};

/** The shapes are from the documentation of the issuers and the public lists of secret scanners, as they were in August 2026. */
const SHAPES: readonly Shape[] = [
  { name: "Anthropic key", pattern: /sk-ant-[\w-]{20,400}/ },
  { name: "OpenAI key", pattern: /sk-[\w-]{20,400}/, isCommon: true },
  { name: "Google key", pattern: /AIza[\w-]{35}(?![\w-])/ },
  { name: "Google client secret", pattern: /GOCSPX-[\w-]{28}(?![\w-])/ },
  { name: "GitHub token", pattern: /gh[oprsu]_(?:[A-Za-z0-9]{36}|\d+_eyJ[\w-]{20,400})|github_pat_\w{60,400}/ },
  { name: "GitLab token", pattern: /glpat-[\w-]{20,400}/ },
  { name: "GitLab token", pattern: /gl(?:ptt|dt|rt|ft|imt|agent|oas|soat|ffct|cbt)-[\w-]{20,400}/, isCommon: true },
  { name: "Slack token", pattern: /(?:xox[abceoprs]|xapp)-\d[A-Za-z0-9-]{19,400}/ },
  { name: "AWS key", pattern: /A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}(?![\w-])/ },
  { name: "npm token", pattern: /npm_[A-Za-z0-9]{36}(?![\w-])/ },
  { name: "Hugging Face token", pattern: /hf_[A-Za-z0-9]{34}(?![\w-])/ },
  { name: "Stripe key", pattern: /[rs]k_(?:live|test|prod)_[A-Za-z0-9]{16,400}/ },
  { name: "xAI key", pattern: /xai-[A-Za-z0-9]{70,400}/ },
  { name: "Groq key", pattern: /gsk_[A-Za-z0-9]{48,400}/ },
  { name: "Perplexity key", pattern: /pplx-[A-Za-z0-9]{40,400}/ },
  { name: "NVIDIA key", pattern: /nvapi-[\w-]{60,400}/ },
  { name: "Replicate token", pattern: /r8_[A-Za-z0-9]{37}(?![\w-])/ },
  { name: "DigitalOcean token", pattern: /do[opr]_v1_[a-f0-9]{64}/ },
  { name: "PyPI token", pattern: /pypi-[\w-]{60,400}/ },
  { name: "age key", pattern: /AGE-SECRET-KEY-1[A-Z0-9]{58}/ },
  { name: "JWT", pattern: /eyJ[\w-]{10,2000}\.eyJ[\w-]{8,400}/ },
];

/** The same with a dot behind the beginning; what follows it can begin with anything. */
const DOTTED: readonly (readonly [start: string, name: string])[] = [
  ["AQ.", "Google key"],
  ["ya29.", "Google token"],
  ["SG.", "SendGrid key"],
];

/** One expression for all, tried only where a token may begin; the group that matched says which it was. */
const ANY_SHAPE = new RegExp(SHAPES.map(({ pattern }) => `(${pattern.source})`).join("|"), "y");

/** Every token has at least this many letters, digits, `-` and `_` in a row. */
const ROW_LENGTH = 16;
/** Max times that one row may look like the beginning of a token that is none. */
const MAX_ATTEMPTS = 16;

const IN_ROW = 1;
const STARTS_TOKEN = 2;
const CHARACTERS = characterTable("sAGghxnrpde");

function characterTable(firstOfTokens: string): Uint8Array {
  const table = new Uint8Array(128);
  for (let code = 0; code < 128; code++) if (/[\w-]/.test(String.fromCharCode(code))) table[code] = IN_ROW;
  for (let index = 0; index < firstOfTokens.length; index++) table[firstOfTokens.charCodeAt(index)] = STARTS_TOKEN;
  return table;
}

/**
 * Undefined when there is none. Only every sixteenth character is looked at, and its neighbours only when it could be in a
 * row that is long enough.
 */
export function tokenShapes(text: string): Span[] | undefined {
  const { length } = text;
  let found: Span[] | undefined;
  for (let index = ROW_LENGTH - 1; index < length; index += ROW_LENGTH) {
    if (kindAt(text, index) === 0) continue;
    let start = index;
    while (start > 0 && kindAt(text, start - 1) !== 0) start -= 1;
    let end = index + 1;
    while (end < length && kindAt(text, end) !== 0) end += 1;
    const token = end - start < ROW_LENGTH ? undefined : tokenIn(text, start, end);
    if (token !== undefined) {
      found ??= [];
      found.push(token);
    }
    // The next row begins behind this one.
    index = token?.end ?? end;
  }
  return found;
}

function kindAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code < 128 ? (CHARACTERS[code] ?? 0) : 0;
}

function tokenIn(text: string, start: number, end: number): Span | undefined {
  const dotted = text.charCodeAt(start - 1) === DOT ? dottedToken(text, start, end) : undefined;
  if (dotted !== undefined) return dotted;
  const isEscaped = start > 0 && ESCAPES.includes(text.charAt(start - 1));
  let attempts = 0;
  for (let index = start; index <= end - ROW_LENGTH; index++) {
    if (index > start) {
      const before = text.charCodeAt(index - 1);
      const isBoundary =
        before === DASH ||
        before === UNDERSCORE ||
        (isEscaped && index - start < MAX_ESCAPE && isBehindEscape(text, index));
      if (!isBoundary) continue;
    }
    if (kindAt(text, index) !== STARTS_TOKEN) continue;
    const token = tokenAt(text, index, end);
    attempts += 1;
    if (token !== undefined || attempts === MAX_ATTEMPTS) return token;
  }
  return undefined;
}

function dottedToken(text: string, index: number, end: number): Span | undefined {
  for (const [first, name] of DOTTED) {
    const start = index - first.length;
    if (!text.startsWith(first, start) || !isRandom(text.slice(index, end))) continue;
    const isBoundary = start === 0 || !/[A-Za-z0-9]/.test(text.charAt(start - 1)) || isBehindEscape(text, start);
    if (isBoundary) return { start, end: tokenEnd(text, end), name };
  }
  return undefined;
}

function tokenAt(text: string, index: number, end: number): Span | undefined {
  ANY_SHAPE.lastIndex = index;
  const match = ANY_SHAPE.exec(text);
  if (match === null) return undefined;
  const shape = SHAPES[match.findIndex((group, index) => index > 0 && group !== undefined) - 1];
  if (shape === undefined || !(shape.isCommon ? isRandom(match[0]) : isVaried(match[0]))) return undefined;
  return { start: index, end: tokenEnd(text, Math.max(end, index + match[0].length)), name: shape.name };
}

const DOT = 0x2e;
const DASH = 0x2d;
const UNDERSCORE = 0x5f;
/** Characters that can be before the letters and digits of an escape. */
const ESCAPES = "\\%[;";
const ESCAPE = /(?:\\(?:[nrtbf]|u[\dA-Fa-f]{4})|%[\dA-Fa-f]{2}|\p{Cc}\[[\d;]{0,9}[A-Za-z])$/u;
const MAX_ESCAPE = 12;

/** A token may follow a line end written as `\n`, a space written as `%20`, or the change of a colour. */
function isBehindEscape(text: string, index: number): boolean {
  return ESCAPE.test(text.slice(Math.max(0, index - MAX_ESCAPE), index));
}

/** Finds the end behind the row, and behind further parts after dots, which newer tokens have. */
function tokenEnd(text: string, from: number): number {
  let end = from;
  while (end < text.length && (kindAt(text, end) !== 0 || (text[end] === "." && kindAt(text, end + 1) !== 0))) end += 1;
  return end;
}

/** False for a placeholder such as `xxxx…`. */
function isVaried(token: string): boolean {
  return new Set(token.slice(-32)).size >= 10;
}

/** Letters and digits mixed in one long piece, as no name or sentence has them. */
export function isRandom(token: string): boolean {
  const pieces = token.split(/[^A-Za-z0-9]/);
  return isVaried(token) && pieces.some((piece) => piece.length >= 12 && /\d/.test(piece) && /[A-Za-z]/.test(piece));
}
