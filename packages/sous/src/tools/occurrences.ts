/** Finds a text in another in linear time: for long texts that were built for it, `indexOf` is quadratic. */

/** Up to this length `indexOf` is faster, and what it does again and again is bounded. */
const SHORT = 64;

/** Where `sought` begins in `text`, in order; places may overlap. An empty text is nowhere. */
export function occurrencesOf(text: string, sought: string): number[] {
  const { length } = sought;
  if (length === 0 || length > text.length) return [];
  return length <= SHORT ? shortOccurrences(text, sought) : longOccurrences(text, sought);
}

function shortOccurrences(text: string, sought: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(sought); at !== -1; at = text.indexOf(sought, at + 1)) found.push(at);
  return found;
}

/** By the algorithm of Knuth, Morris and Pratt: no character of the text is looked at again. */
function longOccurrences(text: string, sought: string): number[] {
  const { length } = sought;
  const borders = bordersOf(sought);
  const found: number[] = [];
  let matched = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    while (matched > 0 && (matched === length || sought.charCodeAt(matched) !== unit)) matched = borders[matched] ?? 0;
    if (sought.charCodeAt(matched) === unit) matched += 1;
    if (matched === length) found.push(at - length + 1);
  }
  return found;
}

/** Of each beginning of the text: how much of its own beginning it also ends with. */
function bordersOf(text: string): Int32Array {
  const borders = new Int32Array(text.length + 1);
  let border = 0;
  for (let at = 1; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    while (border > 0 && text.charCodeAt(border) !== unit) border = borders[border] ?? 0;
    if (text.charCodeAt(border) === unit) border += 1;
    borders[at + 1] = border;
  }
  return borders;
}
