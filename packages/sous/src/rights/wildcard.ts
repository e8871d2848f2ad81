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

/** `*` stands for any text and `?` for one character. */
export function matchesGlob(pattern: string, text: string): boolean {
  const [places, characters] = [[...pattern], [...text]];
  let place = 0;
  let star = -1;
  let starEnd = 0;
  for (let index = 0; index < characters.length; ) {
    const expected = places[place];
    if (expected === "*") {
      star = place++;
      starEnd = index;
    } else if (expected === "?" || expected === characters[index]) {
      place += 1;
      index += 1;
    } else if (star === -1) return false;
    else {
      index = ++starEnd;
      place = star + 1;
    }
  }
  while (places[place] === "*") place += 1;
  return place === places.length;
}
