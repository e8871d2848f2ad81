/** Text from models, tools and files, made harmless for a terminal: it can be read and does nothing else. */

import { plainText } from "../../core/clean-text.ts";

/** Keeps line breaks, and tabs as spaces; everything that moves the cursor, hides or reorders text is taken out. */
export function inert(text: string): string {
  return plainText(text).replaceAll("\t", "    ");
}

/** The same as one line, cut to about `maxLength` units. */
export function inertLine(text: string, maxLength = 400): string {
  // Twice as much is looked at, so that what is taken out does not shorten the line for nothing.
  const line = inert(text.slice(0, maxLength * 2))
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= maxLength ? line : `${line.slice(0, maxLength).toWellFormed()}...`;
}
