/** Cuts characters off the end of a text. The expressions for this try every place they could begin at, which is too many. */

/** Without the characters at its end that are in `characters`; whole characters of one UTF-16 unit each. */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** The white space at the end of a text. */
export function spaceAtEnd(text: string): string {
  return text.slice(text.trimEnd().length);
}
