/** A program with arguments as one line for a shell, in which nothing but words is left. */

export function shellLine(words: readonly string[]): string {
  return words.map(quoted).join(" ");
}

/** Plain words stay as they are, so that rules and people recognize them. */
export function quoted(word: string): string {
  return /^[A-Za-z0-9_@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
