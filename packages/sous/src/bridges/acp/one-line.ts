/** What another program says, as one line for people. */

import { plainText } from "../core/clean-text.ts";

/** Without line breaks and codes of terminals. */
export function oneLine(text: string, maxLength: number): string {
  // Cut first: what is cleaned may be many megabytes long.
  const line = plainText(text.slice(0, 4 * maxLength))
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > maxLength ? `${line.slice(0, maxLength - 1).toWellFormed()}…` : line;
}
