/** Words and names that others chose, whole and on one line: what is different looks different. */

import { visible } from "../../../runtime/rights/action-text.ts";

/** A program with its arguments as bash reads them, in visible ASCII: letters of other scripts can look like these, or turn the line around. */
export function shownWords(words: readonly string[]): string {
  return words.map(shownWord).join(" ");
}

export function shownWord(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  // Several blanks would push what follows out of sight.
  if (/^(?:[!-~]| (?! ))*$/.test(word)) return `'${word.replaceAll("'", "'\\''")}'`;
  return `$'${word.replace(/['\\]/g, "\\$&").replace(/(?<= ) |[^ -~]/gu, escaped)}'`;
}

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code < 0x80) return SHORT[character] ?? `\\x${digits.padStart(2, "0")}`;
  return code < 0x10000 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}

/** The name of a file or an agent. Letters of any script stay; what moves the cursor, hides or reorders text is shown as its number. */
export function shownName(name: string): string {
  return visible(name).replaceAll("\n", "<U+000A>");
}
