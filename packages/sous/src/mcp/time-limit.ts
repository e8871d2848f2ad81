/** The time that one request may take, and waits that a signal ends. */

import type { Clock } from "../core/clock.ts";

/** A signal that aborts with its parent, or when the time is over. */
export class TimeLimit implements Disposable {
  isOver = false;
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #timer: Disposable;
  // What the server is told.
  readonly #onAbort = (): void => this.#controller.abort("cancelled");

  constructor(clock: Clock, limitMs: number, parent: AbortSignal) {
    this.#parent = parent;
    if (parent.aborted) this.#onAbort();
    parent.addEventListener("abort", this.#onAbort, { once: true });
    this.#timer = clock.timer(limitMs, () => {
      this.isOver = true;
      this.#controller.abort("the time limit was reached");
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
    this.#parent.removeEventListener("abort", this.#onAbort);
  }
}

/** Settles like `work`, or rejects with the reason of the signal as soon as it aborts. The work itself continues. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
