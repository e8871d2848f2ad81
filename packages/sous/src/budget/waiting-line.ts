/** A line of waiters, first come first served. Whoever waits can leave when its scope aborts; everything takes constant time. */

import type { Scope } from "../core/scope.ts";

export class WaitingLine<Subject, Result> {
  #first: Waiter<Subject, Result> | undefined;
  #last: Waiter<Subject, Result> | undefined;

  get first(): Waiter<Subject, Result> | undefined {
    return this.#first;
  }

  /** Waits at the end of the line. When the scope aborts, the waiter leaves, rejects with its reason and then tells `onLeave`. */
  join(subject: Subject, scope: Scope, onLeave: () => void): Waiter<Subject, Result> {
    const waiter = new Waiter<Subject, Result>(subject, (left) => this.#remove(left));
    waiter.previous = this.#last;
    if (this.#last === undefined) this.#first = waiter;
    else this.#last.next = waiter;
    this.#last = waiter;
    waiter.link = scope.onAbort((reason) => {
      waiter.reject(reason);
      onLeave();
    });
    return waiter;
  }

  #remove(waiter: Waiter<Subject, Result>): void {
    if (waiter.previous === undefined) this.#first = waiter.next;
    else waiter.previous.next = waiter.next;
    if (waiter.next === undefined) this.#last = waiter.previous;
    else waiter.next.previous = waiter.previous;
  }
}

/** One place in a line. Settling it in either way leaves the line. */
export class Waiter<Subject, Result> {
  readonly subject: Subject;
  readonly promise: Promise<Result>;
  /** A waiter that has left still knows who came after it, so a walk along the line may settle as it goes. */
  next: Waiter<Subject, Result> | undefined;
  previous: Waiter<Subject, Result> | undefined;
  link: Disposable | undefined;
  readonly #remove: (waiter: Waiter<Subject, Result>) => void;
  readonly #settle: PromiseWithResolvers<Result>;

  constructor(subject: Subject, remove: (waiter: Waiter<Subject, Result>) => void) {
    this.subject = subject;
    this.#remove = remove;
    this.#settle = Promise.withResolvers<Result>();
    this.promise = this.#settle.promise;
  }

  resolve(result: Result): void {
    this.#leave();
    this.#settle.resolve(result);
  }

  reject(reason: unknown): void {
    this.#leave();
    this.#settle.reject(reason);
  }

  #leave(): void {
    this.link?.[Symbol.dispose]();
    this.#remove(this);
  }
}
