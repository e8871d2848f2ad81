/** Parts of a command that are closed together. Node 22 has no `AsyncDisposableStack`. */

export class Opened implements AsyncDisposable {
  #closers: (() => void | PromiseLike<void>)[] = [];

  use<Part extends AsyncDisposable | undefined>(part: Part): Part {
    if (part !== undefined) this.defer(() => part[Symbol.asyncDispose]());
    return part;
  }

  defer(close: () => void | PromiseLike<void>): void {
    this.#closers.push(close);
  }

  /** Hands everything over to `owner`: closing this one closes nothing from now on. */
  moveTo<Owner extends object>(owner: Owner): Owner & AsyncDisposable {
    const lives = new Opened();
    lives.#closers = this.#closers;
    this.#closers = [];
    return { ...owner, [Symbol.asyncDispose]: () => lives[Symbol.asyncDispose]() };
  }

  /** The last one first. All are closed, also when one cannot be. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 1) throw new AggregateError(failures, "Several parts could not be closed.");
    if (failures.length === 1) throw failures[0];
  }
}
