/** The first difference of two plain values: where it is, both values, and a sentence that shows it. */

export type ValueDifference = {
  /** `content[0].text`; empty for the values themselves. */
  at: string;
  expected: unknown;
  found: unknown;
};

/** Walks both in the order of the first; a key that is undefined is a key that is missing. */
export function firstDifference(expected: unknown, found: unknown, at = ""): ValueDifference | undefined {
  if (Object.is(expected, found)) return undefined;
  if (typeof expected !== "object" || typeof found !== "object" || expected === null || found === null)
    return isSameAmount(expected, found) ? undefined : { at, expected, found };
  if (Array.isArray(expected) !== Array.isArray(found)) return { at, expected, found };
  if (Array.isArray(expected) && Array.isArray(found)) {
    for (let index = 0; index < Math.max(expected.length, found.length); index++) {
      const difference = firstDifference(expected[index], found[index], `${at}[${index}]`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const difference = firstDifference(ownValue(expected, key), ownValue(found, key), at === "" ? key : `${at}.${key}`);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

/** Sums of money are made of fractions: what differs in the last digits is the same. */
function isSameAmount(expected: unknown, found: unknown): boolean {
  if (typeof expected !== "number" || typeof found !== "number") return false;
  if (Number.isInteger(expected) && Number.isInteger(found)) return false;
  return Math.abs(expected - found) <= 1e-9 * Math.max(Math.abs(expected), Math.abs(found));
}

function ownValue(value: object, key: string): unknown {
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

/** `expected "…", found "…"`: both values around the first difference. */
export function differenceInWords({ expected, found }: Pick<ValueDifference, "expected" | "found">): string {
  const [one, other] = [inWords(expected), inWords(found)];
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const from = same > BEFORE + 8 ? same - BEFORE : 0;
  return `expected ${excerpt(one, from)}, found ${excerpt(other, from)}`;
}

const BEFORE = 24;
const SHOWN = 96;

function inWords(value: unknown): string {
  if (value === undefined) return "nothing";
  return JSON.stringify(value) ?? String(value);
}

/** Never half a character. */
function excerpt(text: string, from: number): string {
  const end = Math.min(text.length, from + SHOWN);
  return `${from > 0 ? "…" : ""}${text.slice(from, end).toWellFormed()}${end < text.length ? "…" : ""}`;
}
