/** Ids that are taken. A list while they are few, because a set takes three times its room, in every live child. */

const FEW = 16;
const NONE: readonly string[] = [];

export class UsedIds {
  #few: readonly string[] = NONE;
  #many: Set<string> | undefined;

  has(id: string): boolean {
    return this.#many?.has(id) ?? this.#few.includes(id);
  }

  add(id: string): void {
    if (this.#many !== undefined) this.#many.add(id);
    // A list of its own length each time: one that is pushed to takes room for seventeen.
    else if (this.#few.length < FEW) this.#few = this.#few.concat(id);
    else this.#many = new Set(this.#few).add(id);
  }
}
