/** All that an error of a provider says about itself, wherever it says it. */

import { messageOf } from "../core/errors.ts";
import type { Headers } from "./retry-after.ts";

export type ErrorFacts = {
  name: string;
  message: string;
  /** An HTTP status of 400 or more. */
  status: number | undefined;
  /** With names in lower case. */
  headers: Headers;
  /** Message, codes, body and causes together, to be searched. */
  text: string;
};

/** Of each text: a server can answer with a whole page, and what is wrong stands at its beginning. */
const MAX_LENGTH = 20_000;

/** Never throws, whatever it is given: adapters throw errors, plain objects and strings. */
export function readErrorFacts(error: unknown): ErrorFacts {
  const shape: Shape = isRecord(error) ? error : {};
  const name = typeof shape.name === "string" ? shape.name : "";
  const message =
    typeof shape.message === "string" ? shape.message : messageOf(isRecord(error) ? toJson(error) : error);
  const words = [
    message,
    name,
    shape.code,
    shape.type,
    shape.responseBody,
    toJson(shape.data),
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

type Shape = {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly statusCode?: unknown;
  readonly status?: unknown;
  readonly code?: unknown;
  readonly type?: unknown;
  readonly responseBody?: unknown;
  readonly responseHeaders?: unknown;
  readonly data?: unknown;
  readonly cause?: unknown;
};

/** For errors inside a stream, which carry a word instead of a status. */
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

/** Undici wraps the error of a socket twice; nobody looks deeper than this. */
const DEEPEST_CAUSE = 4;

function wordsOfCauses(cause: unknown): unknown[] {
  const words: unknown[] = [];
  let current = cause;
  for (let depth = 0; depth < DEEPEST_CAUSE && isRecord(current); depth++) {
    const { name, message, code, cause: next }: Shape = current;
    words.push(name, message, code);
    current = next;
  }
  return words;
}

function toHeaders(value: unknown): Headers {
  if (!isRecord(value)) return {};
  const headers: Record<string, string> = {};
  for (const [name, text] of Object.entries(value)) if (typeof text === "string") headers[name.toLowerCase()] = text;
  return headers;
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
