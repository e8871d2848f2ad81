/** Aligns two lists so that matching items share a row. */

/** One row: an index in each list, or in one of them. */
export type Pair = { left: number | undefined; right: number | undefined };

/** More than this many cells of a table are not filled: then items are paired by their index. */
const MAX_CELLS = 1_000_000;

/** `likeness` is 0 for what never stands in one row. The sum over all rows is as large as can be. */
export function align(
  leftLength: number,
  rightLength: number,
  likeness: (left: number, right: number) => number,
): Pair[] {
  let before = 0;
  const isSame = (left: number, right: number) => likeness(left, right) >= SAME;
  while (before < Math.min(leftLength, rightLength) && isSame(before, before)) before += 1;
  let after = 0;
  const rest = Math.min(leftLength, rightLength) - before;
  while (after < rest && isSame(leftLength - 1 - after, rightLength - 1 - after)) after += 1;
  const middle = alignMiddle(leftLength - before - after, rightLength - before - after, (left, right) =>
    likeness(before + left, before + right),
  );
  return [
    ...Array.from({ length: before }, (_, index) => ({ left: index, right: index })),
    ...middle.map(({ left, right }) => ({ left: shifted(left, before), right: shifted(right, before) })),
    ...Array.from({ length: after }, (_, index) => ({
      left: leftLength - after + index,
      right: rightLength - after + index,
    })),
  ];
}

/** The likeness of two equals. */
export const SAME = 4;

function shifted(index: number | undefined, by: number): number | undefined {
  return index === undefined ? undefined : index + by;
}

function alignMiddle(rows: number, columns: number, likeness: (left: number, right: number) => number): Pair[] {
  if (rows * columns > MAX_CELLS) return pairInOrder(rows, columns, likeness);
  // best[row][column]: what the lists from there to their ends can come to.
  const best = Array.from({ length: rows + 1 }, () => new Float64Array(columns + 1));
  const at = (row: number, column: number) => best[row]?.[column] ?? 0;
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      const like = likeness(row, column);
      const together = like > 0 ? like + at(row + 1, column + 1) : 0;
      const line = best[row];
      if (line !== undefined) line[column] = Math.max(together, at(row + 1, column), at(row, column + 1));
    }
  }
  const pairs: Pair[] = [];
  for (let row = 0, column = 0; row < rows || column < columns; ) {
    const like = row < rows && column < columns ? likeness(row, column) : 0;
    if (like > 0 && at(row, column) === like + at(row + 1, column + 1)) pairs.push({ left: row++, right: column++ });
    else if (row < rows && at(row, column) === at(row + 1, column)) pairs.push({ left: row++, right: undefined });
    else pairs.push({ left: undefined, right: column++ });
  }
  return pairs;
}

function pairInOrder(rows: number, columns: number, likeness: (left: number, right: number) => number): Pair[] {
  return Array.from({ length: Math.max(rows, columns) }, (_, index): Pair[] => {
    if (index >= rows) return [{ left: undefined, right: index }];
    if (index >= columns) return [{ left: index, right: undefined }];
    if (likeness(index, index) > 0) return [{ left: index, right: index }];
    return [
      { left: index, right: undefined },
      { left: undefined, right: index },
    ];
  }).flat();
}
