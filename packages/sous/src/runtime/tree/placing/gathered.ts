/** Items that are written together: one write at a time, and the next takes all that came meanwhile. */

export class Gathered<Item> {
  readonly #write: (items: readonly Item[]) => Promise<void>;
  #items: Item[] = [];
  #next: PromiseWithResolvers<void> | undefined;
  #isWriting = false;

  constructor(write: (items: readonly Item[]) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves when the item is kept. */
  add(item: Item): Promise<void> {
    this.#items.push(item);
    this.#next ??= Promise.withResolvers();
    const { promise } = this.#next;
    if (!this.#isWriting) void this.#writeAll();
    return promise;
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    // Items that come in the same turn of the event loop are written together.
    await new Promise((resolve) => setImmediate(resolve));
    for (let next = this.#next; next !== undefined; next = this.#next) {
      const items = this.#items;
      this.#items = [];
      this.#next = undefined;
      await this.#write(items).then(next.resolve, next.reject);
    }
    this.#isWriting = false;
  }
}
