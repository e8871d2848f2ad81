/** One line for people or a shell from the words of another program. */

import { plainText } from "../../core/clean-text.ts";

/** Returns the text on one line, without codes of terminals, cut to `maxLength`. */
export function oneLine(text: string, maxLength: number): string {
  // Cut first: what is cleaned may be many megabytes long.
  const line = plainText(text.slice(0, 4 * maxLength))
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > maxLength ? `${line.slice(0, maxLength - 1).toWellFormed()}…` : line;
}

/** A program with arguments, in which nothing but words is left. */
export function shellLine(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

/** Plain words stay as they are, so that rules and people recognize them. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
