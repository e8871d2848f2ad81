/** Virtual time for R15: what is due next happens next, and everything that follows from it happens before the clock moves on. */

import type { Scope } from "../../src/core/scope.ts";

type Due = { readonly at: number; readonly wake: () => void };

export class VirtualTime {
  now = 0;
  /** How many events have happened. */
  events = 0;
  /** The next one is at the end. */
  readonly #due: Due[] = [];

  sleep(milliseconds: number, scope: Scope): Promise<void> {
    scope.throwIfAborted();
    return new Promise((resolve, reject) => {
      const link = scope.onAbort((reason) => {
        this.#due.splice(this.#due.indexOf(due), 1);
        reject(reason);
      });
      const due = {
        at: this.now + milliseconds,
        wake: () => {
          link[Symbol.dispose]();
          resolve();
        },
      };
      this.#insert(due);
    });
  }

  /** Lets everything happen until nothing is due any more. */
  async run(afterEvent: () => void): Promise<void> {
    await followUps();
    afterEvent();
    for (let next = this.#due.pop(); next !== undefined; next = this.#due.pop()) {
      this.now = next.at;
      this.events += 1;
      next.wake();
      await followUps();
      afterEvent();
    }
  }

  /** Of two at the same time, the one that was asked for first comes first. */
  #insert(due: Due): void {
    let [low, high] = [0, this.#due.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#due[middle]?.at ?? 0) > due.at) low = middle + 1;
      else high = middle;
    }
    this.#due.splice(low, 0, due);
  }
}

/** All promises that can settle by now have. */
function followUps(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
