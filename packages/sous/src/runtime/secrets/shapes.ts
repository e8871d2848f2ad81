/** Recognizes secrets by their look: private keys, credentials in headers and in addresses. */

import type { KnownText } from "./known-texts.ts";
import type { Span } from "./redact.ts";
import { isRandom } from "./token-shapes.ts";
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

/** The whole block, or what there is of it when its end was cut off. */
function privateKey(text: string, index: number): Span | undefined {
  const header = HEADER_START.exec(text.slice(Math.max(0, index - 36), index));
  const body = header === null ? undefined : endOf(HEADER_END, text, index);
  if (header === null || body === undefined) return undefined;
  const start = index - header[0].length;
  const dashes = text.indexOf("-----", body);
  const blockEnd = dashes < 0 || dashes - body > MAX_BLOCK ? undefined : endOf(BLOCK_END, text, dashes);
  const end = blockEnd ?? endOfKeyLines(text, body, nextHeader(text, body));
  return hasKeyMaterial(text, body, end) ? { start, end, name: "private key" } : undefined;
}

/** The index at which the match at `index` ends; every expression here is bounded, since V8 gives up on very long matches. */
function endOf(sticky: RegExp, text: string, index: number): number | undefined {
  sticky.lastIndex = index;
  return sticky.test(text) ? sticky.lastIndex : undefined;
}

/** The text between the lines of a key: space, as it is or escaped, the number of the line, a sign of a quotation. */
const BETWEEN_LINES = /(?:\s|\\[nrt]|\d{1,6}[\t:|→]|[#>|*]){0,40}/y;
const KEY_LINE = /[A-Za-z0-9+/]{16,4096}={0,2}|[A-Za-z0-9+/]{0,15}={1,2}|[A-Za-z0-9+/]{1,15}$/y;
/** Header lines of a key: its encryption, or the program that made it. */
const KEY_NOTE = /[A-Za-z-]{1,40}: [^\n\\]{1,120}/y;

function endOfKeyLines(text: string, from: number, limit: number): number {
  let end = from;
  while (end < limit) {
    const start = endOf(BETWEEN_LINES, text, end) ?? end;
    const next = endOf(KEY_NOTE, text, start) ?? endOf(KEY_LINE, text, start);
    if (next === undefined) return end;
    end = next;
  }
  return limit;
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

const AZURE_START = /(?<![\w~.])[\w~.]{3}\d$/;
const AZURE_REST = /[\w~.-]{30,33}[\w~-](?![\w~-])/y;

/** Secrets of Azure applications have `Q~` as their fifth and sixth character, and nothing else that tells them. */
export function azureSecrets(text: string): Span[] | undefined {
  // One character is looked for in a tenth of the time of two.
  if (text.length < 37 || !text.includes("~")) return undefined;
  let found: Span[] | undefined;
  for (let at = text.indexOf("Q~"); at >= 0; at = text.indexOf("Q~", at + 2)) {
    const start = at - 4;
    const end = endOf(AZURE_REST, text, at + 2);
    if (end === undefined || !AZURE_START.test(text.slice(Math.max(0, start - 1), at))) continue;
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
