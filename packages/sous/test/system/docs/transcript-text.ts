/** The text that a page shows of a terminal: where it stands, and when two of them say the same. */

import { cutToWidth } from "../../../src/app/cli/terminal/text.ts";

/** A block with a name, what is in it, and what is around it. */
export const TRANSCRIPT: RegExp = /(<!-- transcript: (\w+) -->\s*```text\n)(.*?)(```)/gs;

const COLUMNS = 140;

export function cutLines(text: string): string {
  return text
    .split("\n")
    .map((line) => cutToWidth(line, COLUMNS))
    .join("\n");
}

/** Without what differs from run to run. Columns are as wide as their figures, so their gaps differ too. */
export function comparable(text: string): string {
  return (
    withStableIds(text)
      .replaceAll(/\b[\d.]+(s|ms)\b/g, "TIME")
      .replaceAll(/~?\b[\d.]+k? tok\b/g, "TOKENS")
      .replaceAll(/(?<=exceeded: )\d+(?=\/\d)/g, "TOKENS")
      // The names of folders and the digits of times are in prompts and reports.
      .replaceAll(/\b(spent|reserved|asked) \d+/g, "$1 TOKENS")
      .replaceAll(/\b\d+ (spent|reserved|left)\b/g, "TOKENS $1")
      .replaceAll(/ {2,}/g, "  ")
  );
}

/** Every id by the order in which it first appears. */
export function withStableIds(text: string): string {
  const ids = new Map<string, string>();
  return text.replaceAll(/\b01[0-9A-HJKMNP-TV-Z]{24}\b/g, (id) => {
    const stable = ids.get(id) ?? `01KA${String(ids.size + 1).padStart(22, "0")}`;
    ids.set(id, stable);
    return stable;
  });
}
