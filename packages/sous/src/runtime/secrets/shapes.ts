/** Recognizes secrets by their look: private keys, credentials in headers and in addresses. */

import type { KnownText } from "./known-texts.ts";
import type { Span } from "./redact.ts";
import { isBehindEscape, isRandom } from "./token-shapes.ts";
import { MARKED_SECRETS } from "./token-table.ts";

/** Shapes that are found by a text they hold: seven characters of it. */
export const KNOWN_SHAPES: readonly KnownText[] = [
  { start: "PRIVATE", check: privateKey },
  ...["Bearer ", "bearer ", "BEARER "].map((start) => ({ start, check: bearerToken })),
  ...[": Basic", '"Basic '].map((start) => ({ start, check: basicCredentials })),
  ...MARKED_SECRETS.map(([name, before, mark, rest]) => ({
    start: mark,
    check: (text: string, index: number) =>
      markedSecret(text, index + before.length - before.indexOf(mark), before, rest, name),
  })),
];

const HEADER_START = /-----BEGIN [A-Z0-9 ]{0,24}$/;
const HEADER_END = /PRIVATE KEY(?: BLOCK)?-----/y;
const BLOCK_END = /-----END [A-Z0-9 ]{0,40}(?:-----)?/y;
const MAX_BLOCK = 65_536;

/**
 * The header and all rows that can only be a key, to the END line or as far as they are there. Behind any other text the rows
 * that are surely key material follow alone: a person may be asked to allow what stands between them.
 */
function privateKey(text: string, index: number): Span[] | undefined {
  const header = HEADER_START.exec(text.slice(Math.max(0, index - 36), index));
  const body = header === null ? undefined : endOf(HEADER_END, text, index);
  if (header === null || body === undefined) return undefined;
  const limit = nextHeader(text, body);
  const { start: rows, isShown } = behindNotes(text, body, limit);
  const keyEnd = endOfKeyLines(text, rows, limit);
  const blockEnd = endOfBlock(text, keyEnd);
  const end = blockEnd ?? keyEnd;
  const found = isShown ? strayRows(text, body, rows) : [];
  if (hasKeyMaterial(text, rows, end)) {
    found.push({ start: isShown ? behindSpace(text, rows) : index - header[0].length, end, name: "private key" });
  }
  const next = text.slice(end, Math.min(limit, body + MAX_BLOCK)).indexOf("-----END ");
  return blockEnd === undefined && next > 0 ? [...found, ...strayRows(text, end, end + next)] : found;
}

/** The index at which the match at `index` ends; every expression here is bounded, since V8 gives up on very long matches. */
function endOf(sticky: RegExp, text: string, index: number): number | undefined {
  sticky.lastIndex = index;
  return sticky.test(text) ? sticky.lastIndex : undefined;
}

/** The text between the lines of a key: space, as it is or escaped, the number of the line, a sign of a quotation or of source code. */
const BETWEEN_LINES = /(?:\s|\\{1,4}[nrt]|\d{1,6}[\t:|→]|[#>|*"'`,]|\+[\s"'`]){0,200}/y;

function behindSpace(text: string, index: number): number {
  return endOf(BETWEEN_LINES, text, index) ?? index;
}

/** A row, or the piece of one at which the text is cut. */
const KEY_LINE = /[A-Za-z0-9+/]{16,4096}={0,2}|[A-Za-z0-9+/]{0,15}={1,2}|(?![a-z/]{1,15}$)[A-Za-z0-9+/]{1,15}$/y;
/** The checksum of a PGP key. */
const CHECKSUM = /=[A-Za-z0-9+/]{4}(?![A-Za-z0-9+/=])/y;
/** Header lines about the encryption of a key: nothing else can be written in them. */
const KEY_NOTE = /(?:Proc-Type: 4,ENCRYPTED|DEK-Info: [A-Z0-9-]{1,24},[A-Fa-f0-9]{8,64})(?![^\s\\"'`])/y;
/** Header lines of the program that made the key. They can say anything, so they stay. */
const OTHER_NOTE = /[A-Za-z-]{1,40}: [^\n\\]{1,120}/y;

/** The place behind the header lines, and whether one of them stays visible. */
function behindNotes(text: string, from: number, limit: number): { start: number; isShown: boolean } {
  let [start, isShown] = [from, false];
  while (start < limit) {
    const line = behindSpace(text, start);
    const hidden = endOf(KEY_NOTE, text, line);
    const next = hidden ?? endOf(OTHER_NOTE, text, line);
    if (next === undefined || next > limit) break;
    isShown ||= hidden === undefined;
    start = next;
  }
  return { start, isShown };
}

function endOfKeyLines(text: string, from: number, limit: number): number {
  let end = from;
  while (end < limit) {
    const start = behindSpace(text, end);
    const next = endOf(CHECKSUM, text, start) ?? endOf(KEY_LINE, text, start);
    if (next === undefined) return end;
    end = next;
  }
  return limit;
}

/** The last row of a key is as short as it comes. */
const LAST_LINE = /[A-Za-z0-9+/]{1,15}/y;

/** Undefined when the END line does not follow. A row of one word can be a command, and hardly a row of a key: it ends the key. */
function endOfBlock(text: string, keyEnd: number): number | undefined {
  const start = behindSpace(text, keyEnd);
  const last = endOf(LAST_LINE, text, start) ?? start;
  if (/^[a-z/]+$/.test(text.slice(start, last))) return undefined;
  const sum = behindSpace(text, last);
  return endOf(BLOCK_END, text, behindSpace(text, endOf(CHECKSUM, text, sum) ?? sum));
}

const ROW = /[A-Za-z0-9+/]{32,4096}={0,2}/g;

/** Rows of a key between other texts, such as the names of files. */
function strayRows(text: string, from: number, to: number): Span[] {
  return [...text.slice(from, to).matchAll(ROW)]
    .filter(([row]) => isRandom(row))
    .map(({ 0: row, index }) => ({ start: from + index, end: from + index + row.length, name: "private key" }));
}

const HEADER = /-----BEGIN [A-Z0-9 ]{0,24}PRIVATE KEY(?: BLOCK)?-----/g;

/** A key ends where the next one begins: each is looked through once, however many there are. */
function nextHeader(text: string, from: number): number {
  HEADER.lastIndex = from;
  return HEADER.exec(text)?.index ?? text.length;
}

/** A row as long as this is key material; shorter ones are words. */
const KEY_MATERIAL = 32;

/** Code that knows how a key file begins and ends has no key between the two. */
function hasKeyMaterial(text: string, from: number, to: number): boolean {
  let row = 0;
  for (let index = from; index < to && row < KEY_MATERIAL; index++) {
    const code = text.charCodeAt(index) | 0x20;
    const isLetter = (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2f;
    row = isLetter ? row + 1 : 0;
  }
  return row >= KEY_MATERIAL;
}

const TOKEN = /[ \t]{0,4}([\w.~+/-]{20,8000}={0,2})/y;

/** `Authorization: Bearer …`, in a header, in code or in a command. */
function bearerToken(text: string, index: number): Span | undefined {
  TOKEN.lastIndex = index + "Bearer".length;
  const token = TOKEN.exec(text)?.[1];
  if (token === undefined || !isRandom(token)) return undefined;
  return { start: TOKEN.lastIndex - token.length, end: TOKEN.lastIndex, name: "bearer token" };
}

const BASE64 = /[ \t]{0,4}([A-Za-z0-9+/]{8,4000}={0,2})/y;

function basicCredentials(text: string, index: number): Span | undefined {
  BASE64.lastIndex = text.indexOf("Basic", index) + "Basic".length;
  const encoded = BASE64.exec(text)?.[1];
  if (encoded === undefined || !isUserAndPassword(encoded)) return undefined;
  return { start: BASE64.lastIndex - encoded.length, end: BASE64.lastIndex, name: "credentials" };
}

function isUserAndPassword(encoded: string): boolean {
  try {
    const decoded = atob(encoded);
    return decoded.includes(":") && /^[\x20-\x7e]*$/.test(decoded);
  } catch {
    return false;
  }
}

/** Finds the secret behind `before`, which ends at `start`. */
function markedSecret(text: string, start: number, before: string, rest: RegExp, name: string): Span | undefined {
  if (!text.startsWith(before, start - before.length)) return undefined;
  const end = endOf(rest, text, start);
  return end === undefined || !isRandom(text.slice(start, end)) ? undefined : { start, end, name };
}

const AZURE_START = /^[\w~.]{3}\d$/;
const AZURE_REST = /[\w~.-]{30,33}[\w~-](?![\w~-])/y;

/** Secrets of Azure applications have `Q~` as their fifth and sixth character, and nothing else that tells them. */
export function azureSecrets(text: string): Span[] | undefined {
  // One character is looked for in a tenth of the time of two.
  if (text.length < 37 || !text.includes("~")) return undefined;
  let found: Span[] | undefined;
  for (let at = text.indexOf("Q~"); at >= 0; at = text.indexOf("Q~", at + 2)) {
    const start = at - 4;
    const end = endOf(AZURE_REST, text, at + 2);
    if (end === undefined || !AZURE_START.test(text.slice(Math.max(0, start), at))) continue;
    if (/[\w~.]/.test(text.charAt(start - 1)) && !isBehindEscape(text, start)) continue;
    found ??= [];
    found.push({ start, end, name: "Azure secret" });
  }
  return found;
}

const MAX_USERINFO = 512;
const ENDS_USERINFO = /[\s/?#"'`<>\\]/;
/** Placeholders that people write where a password would be. */
const PLACEHOLDER = /^(?:[$<{*[]|%[^0-9A-Fa-f]|(?:pass|passwd|password|pw|pwd|secret|token|x+|\.+)$)/i;

/** `scheme://user:password@host`: only the password goes. */
export function urlPasswords(text: string): Span[] | undefined {
  if (text.length < 12 || !text.includes("@")) return undefined;
  let found: Span[] | undefined;
  for (let at = text.indexOf("://"); at >= 0; at = text.indexOf("://", at + 3)) {
    const start = at + 3;
    const userinfo = userinfoAt(text, start);
    const colon = userinfo.indexOf(":");
    if (colon < 0 || PLACEHOLDER.test(userinfo.slice(colon + 1)) || colon + 1 === userinfo.length) continue;
    found ??= [];
    found.push({ start: start + colon + 1, end: start + userinfo.length, name: "password" });
  }
  return found;
}

function userinfoAt(text: string, start: number): string {
  const near = text.slice(start, start + MAX_USERINFO);
  const end = near.search(ENDS_USERINFO);
  return near.slice(0, Math.max(0, near.slice(0, end < 0 ? near.length : end).lastIndexOf("@")));
}
