/** The facts in an error of a provider, from all its fields and causes. */

import { messageOf } from "../../core/errors.ts";
import { isObject, jsonOf } from "../../core/schema.ts";

export type ErrorFacts = {
  name: string;
  message: string;
  /** An HTTP status of 400 or more. */
  status: number | undefined;
  /** The headers, with names in lower case. */
  headers: Headers;
  /** Message, codes, body and causes together, to be searched. */
  text: string;
};

/** Max characters of each text: a server can answer with a whole page, whose beginning says what is wrong. */
const MAX_LENGTH = 20_000;

/** Never throws, whatever it is given: adapters throw errors, plain objects and strings. */
export function readErrorFacts(error: unknown): ErrorFacts {
  const shape: Shape = isObject(error) ? error : {};
  const name = typeof shape.name === "string" ? shape.name : "";
  const message =
    typeof shape.message === "string" ? shape.message : messageOf(isObject(error) ? (jsonOf(error) ?? "") : error);
  const words = [
    message,
    name,
    shape.code,
    shape.type,
    shape.responseBody,
    jsonOf(shape.data),
    ...wordsOfCauses(shape.cause),
  ];
  return {
    name,
    message: message.slice(0, MAX_LENGTH),
    status: statusOf(shape),
    headers: toHeaders(shape.responseHeaders),
    text: words
      .filter((word) => typeof word === "string")
      .map((word) => word.slice(0, MAX_LENGTH))
      .join("\n"),
  };
}

/** An adapter may throw anything. */
type Shape = Readonly<Record<string, unknown>>;

/** The statuses for errors inside a stream, which carry a word instead of one. */
const STATUS_OF_WORD: Readonly<Record<string, number>> = {
  api_error: 500,
  authentication_error: 401,
  insufficient_quota: 429,
  invalid_api_key: 401,
  invalid_request_error: 400,
  not_found_error: 404,
  overloaded_error: 529,
  permission_error: 403,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  server_error: 500,
  timeout_error: 504,
};

function statusOf({ statusCode, status, code, type }: Shape): number | undefined {
  for (const candidate of [statusCode, status, code, type]) {
    const number = typeof candidate === "string" ? (STATUS_OF_WORD[candidate] ?? Number(candidate)) : candidate;
    if (typeof number === "number" && number >= 400 && number < 600) return number;
  }
  return undefined;
}

/** Undici wraps the error of a socket twice; deeper causes are not read. */
const MAX_CAUSE_DEPTH = 4;

function wordsOfCauses(cause: unknown): unknown[] {
  const words: unknown[] = [];
  let current = cause;
  for (let depth = 0; depth < MAX_CAUSE_DEPTH && isObject(current); depth++) {
    const { name, message, code, cause: next }: Shape = current;
    words.push(name, message, code);
    current = next;
  }
  return words;
}

function toHeaders(value: unknown): Headers {
  if (!isObject(value)) return {};
  const headers: Record<string, string> = {};
  for (const [name, text] of Object.entries(value)) if (typeof text === "string") headers[name.toLowerCase()] = text;
  return headers;
}

type Headers = Readonly<Record<string, string | undefined>>;

/** Milliseconds that the provider asks to wait; undefined when it did not say. `text` is that of the error. */
export function retryAfterMs(headers: Headers, text: string, now: number): number | undefined {
  return fromHeaders(headers, now) ?? fromText(text);
}

function fromHeaders(headers: Headers, now: number): number | undefined {
  const exact = toMilliseconds(headers["retry-after-ms"], 1);
  if (exact !== undefined) return exact;
  const value = headers["retry-after"];
  const seconds = toMilliseconds(value, 1000);
  if (seconds !== undefined || value === undefined) return seconds;
  // A date of HTTP names its day; without one `Date.parse` finds a date in almost anything.
  const date = /^[A-Z][a-z]{2}/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** Google sends no header but a `RetryInfo`; OpenAI writes it into the sentence, as in "7m12s". */
const IN_TEXT = /"retryDelay"\s*:\s*"|\btry again in /;
/** One number with its unit. */
const QUANTITY = /^\s*([\d.]{1,20})\s*([a-z]{1,20})/;
const MAX_SPAN = 60;
const UNITS: Readonly<Record<string, number>> = { ms: 1, m: 60_000, s: 1000, h: 3_600_000, d: 86_400_000 };

function fromText(text: string): number | undefined {
  const found = IN_TEXT.exec(text);
  if (found === null) return undefined;
  const start = found.index + found[0].length;
  return spanMs(text.slice(start, start + MAX_SPAN));
}

/** Milliseconds in a span such as `7m12s`, as far as it can be read; undefined for another text. */
export function spanMs(text: string): number | undefined {
  let rest = text.slice(0, MAX_SPAN);
  let sum: number | undefined;
  for (;;) {
    const quantity = QUANTITY.exec(rest);
    const milliseconds = quantity === null ? undefined : toMilliseconds(quantity[1], unitOf(quantity[2] ?? ""));
    if (quantity === null || milliseconds === undefined) return sum;
    sum = (sum ?? 0) + milliseconds;
    rest = rest.slice(quantity[0].length);
  }
}

/** NaN for a word that is not a unit of time. */
function unitOf(word: string): number {
  const unit = word.startsWith("milli") ? "ms" : word === "ms" ? word : word.slice(0, 1);
  return UNITS[unit] ?? Number.NaN;
}

/** Clamps huge numbers: they are too long to wait for anyway. */
function toMilliseconds(value: string | undefined, factor: number): number | undefined {
  if (value === undefined || value.trim() === "") return undefined;
  const milliseconds = Math.ceil(Number(value) * factor);
  return milliseconds >= 0 ? Math.min(milliseconds, Number.MAX_SAFE_INTEGER) : undefined;
}

const UNREADABLE = /^AI_(JSONParse|TypeValidation|InvalidResponseData|EmptyResponseBody)Error$/;
/** True for the error of the Anthropic adapter when the first line of a stream is garbage. */
const UNREADABLE_START = "Expected a normalized Anthropic stream error";

export function isUnreadable({ name, message }: ErrorFacts): boolean {
  return UNREADABLE.test(name) || message === UNREADABLE_START;
}

const MAX_QUOTE = 300;
const SECRET = /\b(sk-|gh[a-z]_|github_pat_|AIza|tid=|Bearer )[^\s"',;]+/g;

/** The provider's own words, on one line. */
export function quote(facts: ErrorFacts): string {
  if (isUnreadable(facts)) return ": it sent data that cannot be read";
  const words = facts.message.replaceAll(/\s+/g, " ").replaceAll(SECRET, "[secret]").trim().replace(/\.$/, "");
  if (words === "") return "";
  return `: ${words.length > MAX_QUOTE ? `${words.slice(0, MAX_QUOTE).toWellFormed()} …` : words}`;
}
