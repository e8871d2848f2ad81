/** Text with free places in it. Matching takes time in proportion to pattern × text, whatever both are. */

/**
 * True when the fixed pieces stand in the text in this order, with only what `mayFill` allows between them.
 * `["a", "b"]` is what `a*b` stands for.
 */
export function standsFor(pieces: readonly string[], text: string, mayFill: (between: string) => boolean): boolean {
  const [first = "", ...rest] = pieces;
  if (rest.length === 0) return text === first;
  if (!text.startsWith(first)) return false;
  const last = rest.pop() ?? "";
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found === -1 || !mayFill(text.slice(at, found))) return false;
    at = found + piece.length;
  }
  const end = text.length - last.length;
  return end >= at && text.endsWith(last) && mayFill(text.slice(at, end));
}
