/** A binary heap whose entries know their place, so that any of them is removed in logarithmic time. */

export type HeapEntry = {
  readonly due: number;
  /** Decides among equals: the lower comes first. */
  readonly order: number;
  /** Its place in the heap; -1 when it is in none. Only the heap writes it. */
  index: number;
};

export class DeadlineHeap<Entry extends HeapEntry> {
  readonly #entries: Entry[] = [];

  get first(): Entry | undefined {
    return this.#entries[0];
  }

  add(entry: Entry): void {
    this.#entries.push(entry);
    this.#rise(entry, this.#entries.length - 1);
  }

  remove(entry: Entry): void {
    const { index } = entry;
    entry.index = -1;
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    // The last entry fills the gap; it comes from another branch, so it may belong higher or lower.
    this.#rise(last, index);
    if (last.index === index) this.#sink(last, index);
  }

  #rise(entry: Entry, from: number): void {
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.#entries[parentIndex];
      if (parent === undefined || !isBefore(entry, parent)) break;
      this.#put(parent, index);
      index = parentIndex;
    }
    this.#put(entry, index);
  }

  #sink(entry: Entry, from: number): void {
    let index = from;
    for (;;) {
      const left = this.#entries[2 * index + 1];
      const right = this.#entries[2 * index + 2];
      const child = left !== undefined && right !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, entry)) break;
      const childIndex = child.index;
      this.#put(child, index);
      index = childIndex;
    }
    this.#put(entry, index);
  }

  #put(entry: Entry, index: number): void {
    this.#entries[index] = entry;
    entry.index = index;
  }
}

function isBefore(one: HeapEntry, other: HeapEntry): boolean {
  return one.due < other.due || (one.due === other.due && one.order < other.order);
}
