/** Events of a tree by their numbers. */

/** `events` are in order: the first place behind the number `seq`. */
export function indexAfter(events: readonly { readonly seq: number }[], seq: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle]?.seq ?? 0) > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}
