/** Ids of runs: how they are made, and how they are found and replaced in texts. */

import type { Random } from "./clock.ts";

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const RANDOM_DIGITS = 16;

/** Makes ULIDs: sortable by time, monotonic within a millisecond, also when the clock steps back. */
export function ulidSource(now: () => number, random: Random): () => string {
  let lastTime = -1;
  let prefix = "";
  const digits = new Array<number>(RANDOM_DIGITS).fill(0);
  return () => {
    const time = Math.max(now(), lastTime);
    if (time === lastTime && increment(digits)) return encode(prefix, digits);
    lastTime = time === lastTime ? time + 1 : time;
    prefix = encodeTime(lastTime);
    for (let index = 0; index < RANDOM_DIGITS; index++) digits[index] = Math.floor(random() * 32);
    return encode(prefix, digits);
  };
}

/** Adds one to the number; false when it was the largest. */
function increment(digits: number[]): boolean {
  for (let index = digits.length - 1; index >= 0; index--) {
    const digit = digits[index] ?? 0;
    if (digit < 31) {
      digits[index] = digit + 1;
      return true;
    }
    digits[index] = 0;
  }
  return false;
}

/** Makes the text from bytes, not by adding characters: it is then one flat piece in memory, of which a wide tree has many. */
function encode(prefix: string, digits: readonly number[]): string {
  const codes = new Array<number>(prefix.length + digits.length);
  for (let index = 0; index < prefix.length; index++) codes[index] = prefix.charCodeAt(index);
  for (let index = 0; index < digits.length; index++)
    codes[prefix.length + index] = ALPHABET.charCodeAt(digits[index] ?? 0);
  return String.fromCharCode(...codes);
}

function encodeTime(time: number): string {
  let text = "";
  for (let rest = time, digit = 0; digit < 10; digit++) {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** Milliseconds since 1970: the first ten letters. */
export function timeOfUlid(id: string): number {
  let time = 0;
  for (const letter of id.slice(0, 10)) time = time * 32 + ALPHABET.indexOf(letter);
  return time;
}

/** A ULID that stands for itself, not in the middle of a longer word. */
export const ULID: RegExp = /(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])/g;
export const ULID_LENGTH = 26;

export function isUlid(text: string): boolean {
  return /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text);
}

/** Every id inside the texts of a plain value replaced; the same object when nothing changes. */
export function replaceIds<T>(value: T, ids: ReadonlyMap<string, string>): T;
export function replaceIds(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (ids.size === 0) return value;
  if (typeof value === "string") return replaceIdsIn(value, ids);
  if (Array.isArray(value)) {
    let changed: unknown[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const mapped = replaceIds(value[index], ids);
      if (mapped === value[index]) continue;
      changed ??= [...value];
      changed[index] = mapped;
    }
    return changed ?? value;
  }
  if (typeof value !== "object" || value === null) return value;
  let changed: Record<string, unknown> | undefined;
  for (const [key, item] of Object.entries(value)) {
    const mapped = replaceIds(item, ids);
    if (mapped === item) continue;
    changed ??= { ...value };
    changed[key] = mapped;
  }
  return changed ?? value;
}

function replaceIdsIn(text: string, ids: ReadonlyMap<string, string>): string {
  if (text.length < ULID_LENGTH) return text;
  if (text.length === ULID_LENGTH) return ids.get(text) ?? text;
  return text.replace(ULID, (id) => ids.get(id) ?? id);
}
