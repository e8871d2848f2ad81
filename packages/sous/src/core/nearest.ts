/** The name that was probably meant. */

/** Longer texts are not names. */
const MAX_COMPARED = 40;

/** Undefined when nothing is close: a wrong guess is worse than none. */
export function nearest(given: string, names: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(given.length / 3)) + 1;
  for (const name of names) {
    // The beginning of a name stands for that name.
    if (given.length > 2 && name.startsWith(given)) return name;
    const changes = given.length > MAX_COMPARED ? least : distance(given, name);
    if (changes >= least) continue;
    best = name;
    least = changes;
  }
  return best;
}

/** `; did you mean NAME?`, to end a sentence; empty when nothing is close. */
export function didYouMean(given: string, names: Iterable<string>): string {
  const meant = nearest(given, names);
  return meant === undefined ? "" : `; did you mean ${meant}?`;
}

/** All of them, beginning with what was probably meant; the same order for the same names, however they came. */
export function nearestFirst(given: string, names: readonly string[]): string[] {
  const far = (name: string): number => (given.length > MAX_COMPARED ? 0 : distance(given, name));
  const away = new Map(names.map((name) => [name, given.length > 2 && name.startsWith(given) ? 0 : far(name)]));
  const order = (name: string): number => away.get(name) ?? 0;
  return names.toSorted((one, other) => order(one) - order(other) || (one < other ? -1 : 1));
}

/** The number of letters that must be added, left out, changed or swapped with their neighbour. */
function distance(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      const least = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        row > 1 && column > 1 && isSwapped ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
      current.push(least);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, other.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? 0;
}
