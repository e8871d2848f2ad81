/**
 * Text for a column: Postgres takes no character 0 and no half characters, Node 22 reads none behind a 0 from SQLite, yet what
 * is kept must come back as it was.
 */

/** The same text in nearly every case; else with the characters that cannot be kept, and `\`, written as `\u005c`. */
export function toColumn(text: string): string {
  if (!text.includes("\\") && !text.includes("\0") && text.isWellFormed()) return text;
  return text.replace(UNFIT, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function fromColumn(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(WRITTEN, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** With the flag `u` a surrogate matches only when its other half is missing. */
const UNFIT = /[\\\p{Cs}]|\0/gu;
const WRITTEN = /\\u([0-9a-f]{4})/g;
