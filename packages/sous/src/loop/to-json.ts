/** Values as JSON: what may be written down as it is, and the text of what may not. */

/** More levels than this are no data but a trap for whoever walks through them. */
const MAX_DEPTH = 100;

/** True for what JSON gives back as it was; a field that is undefined counts as missing. */
export function isJson(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      return value === null || (depth < MAX_DEPTH && isPlain(value) && Object.values(value).every(isJsonBelow(depth)));
    default:
      return false;
  }
}

function isJsonBelow(depth: number): (item: unknown) => boolean {
  return (item) => isJson(item, depth + 1);
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The value itself when JSON can keep it, else what JSON makes of it; undefined when that is nothing. */
export function asKept(value: unknown): unknown {
  if (isJson(value)) return value;
  try {
    return JSON.parse(toJson(value));
  } catch {
    return undefined;
  }
}

/** Throws for what has no JSON, such as a function or a circle. */
export function toJson(value: unknown): string {
  const text = plainJson(value);
  // An empty object may have been a map or a set, which JSON shows as nothing.
  const whole = text === undefined || text.includes("{}") ? JSON.stringify(value, showMore) : text;
  if (whole === undefined)
    throw new Error(`it is ${typeof value === "object" ? "nothing" : `a ${typeof value}`} in JSON`);
  return whole;
}

function plainJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function showMore(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Map || value instanceof Set ? [...value] : value;
}
