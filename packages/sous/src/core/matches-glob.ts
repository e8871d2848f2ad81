/** Texts with `*` and `?` in them. Matching takes time in proportion to pattern × text, whatever both are. */

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
