/**
 * Cancellation as a tree that is linked by hand. A scope aborts with its parent and forgets itself when disposed;
 * its `AbortSignal` is made only when somebody asks for one, so a call that never looks at it costs nothing.
 */

export class Scope implements Disposable {
  #parent: Scope | undefined;
  #below: Set<Scope> | undefined;
  #listeners: Set<(reason: unknown) => void> | undefined;
  #controller: AbortController | undefined;
  #aborted = false;
  #reason: unknown;

  constructor(parent?: Scope) {
    if (parent === undefined) return;
    if (parent.#aborted) {
      this.#aborted = true;
      this.#reason = parent.#reason;
      return;
    }
    this.#parent = parent;
    parent.#below ??= new Set();
    parent.#below.add(this);
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** Made on first use; aborts when the scope does. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Aborts this scope and everything below it; a second call changes nothing. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    if (this.#listeners !== undefined) for (const listener of [...this.#listeners]) listener(reason);
    if (this.#below !== undefined) for (const scope of [...this.#below]) scope.abort(reason);
    this.#listeners = undefined;
    this.#below = undefined;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  /** Calls `listener` when the scope aborts, at once if it has already; disposing the result forgets the listener. */
  onAbort(listener: (reason: unknown) => void): Disposable {
    if (this.#aborted) {
      listener(this.#reason);
      return NOTHING;
    }
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners?.delete(listener) };
  }

  [Symbol.dispose](): void {
    const parent = this.#parent;
    if (parent === undefined) return;
    this.#parent = undefined;
    parent.#below?.delete(this);
  }
}

const NOTHING: Disposable = { [Symbol.dispose]: () => {} };

/** Settles like `work`, or rejects with the scope's reason as soon as the scope aborts. */
export function untilAborted<T>(work: PromiseLike<T>, scope: Scope): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const link = scope.onAbort(reject);
    work.then(
      (value) => {
        link[Symbol.dispose]();
        resolve(value);
      },
      (error: unknown) => {
        link[Symbol.dispose]();
        reject(error);
      },
    );
  });
}
