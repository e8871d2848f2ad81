/** Values as JSON: which can be stored as they are, and the JSON form of the others. */

import { isDeepStrictEqual } from "node:util";
import { jsonOf } from "../../core/schema.ts";

/** Deeper values are refused: a recursive walk over them could overflow the stack. */
const MAX_DEPTH = 100;

type TextCheck = (text: string) => boolean;
const isAnyText: TextCheck = () => true;

/** True for what JSON gives back as it was; a field that is undefined counts as missing. */
export function isJson(value: unknown, isText: TextCheck = isAnyText, depth = 0): boolean {
  switch (typeof value) {
    case "string":
      return isText(value);
    case "boolean":
    case "undefined":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      return value === null || (depth < MAX_DEPTH && isJsonObject(value, isText, depth + 1));
    default:
      return false;
  }
}

/** JSON in which no text is broken, so that every provider takes it. */
export function isWellFormedJson(value: unknown): boolean {
  return isJson(value, (text) => text.isWellFormed());
}

function isJsonObject(value: object, isText: TextCheck, depth: number): boolean {
  if (Array.isArray(value)) {
    for (const item of value) if (!isJson(item, isText, depth)) return false;
    return true;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key in value) {
    if (!isText(key) || !isJson((value as Record<string, unknown>)[key], isText, depth)) return false;
  }
  return true;
}

/** A copy of what is JSON, several times faster than one of any value. */
export function copyJson(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyJson);
  const copy: Record<string, unknown> = { ...value };
  for (const key of Object.keys(copy)) if (typeof copy[key] === "object") copy[key] = copyJson(copy[key]);
  return copy;
}

/** The value itself when it is JSON, else its JSON form; undefined when it has none. */
export function asKept(value: unknown): unknown {
  if (isJson(value)) return value;
  try {
    return JSON.parse(toJson(value));
  } catch {
    return undefined;
  }
}

/** True when a store would give back the same for both. */
export function isSameJson(one: unknown, other: unknown): boolean {
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(asKept(value) ?? null));
  return isDeepStrictEqual(plain(one), plain(other));
}

/** Throws for what has no JSON, such as a function or a circle. */
export function toJson(value: unknown): string {
  const text = jsonOf(value);
  // An empty object may have been a map or a set, which JSON shows as nothing.
  const whole = text === undefined || text.includes("{}") ? JSON.stringify(value, showMore) : text;
  if (whole === undefined)
    throw new Error(`it is ${typeof value === "object" ? "nothing" : `a ${typeof value}`} in JSON`);
  return whole;
}

function showMore(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Map || value instanceof Set ? [...value] : value;
}
