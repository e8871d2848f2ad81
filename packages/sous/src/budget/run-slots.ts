/** The gate of `max_concurrent`: how many runs of a tree may be at work, not counting those that wait for others. */

import type { DelegationLimits, Holding, RunSlot } from "../core/limits.ts";
import type { Scope } from "../core/scope.ts";

/** Ends a rest. A stopped run needs no slot any more, and what it waited for counts all the same. */
export async function wakeUp(slot: RunSlot, scope: Scope, holding?: Holding, callId?: string): Promise<void> {
  try {
    if (!scope.aborted) await slot.wake(scope, holding, callId);
  } catch (error) {
    if (!scope.aborted) throw error;
  }
}

/** Does something while a run holds no slot. */
export async function rest<T>(
  slot: RunSlot,
  { scope, holding }: { readonly scope: Scope; readonly holding: Holding | undefined },
  work: () => Promise<T>,
): Promise<T> {
  slot.rest();
  try {
    return await work();
  } finally {
    await wakeUp(slot, scope, holding);
  }
}

export class Slots {
  /** A child that finds no slot is refused instead of waiting for one. */
  readonly refusesWhenFull: boolean;
  /** Runs that wait to continue; they come before those that wait to start. */
  readonly waking = new WaitingLine<GateSlot, void>();
  free: number;
  /** Notified when a slot is free that no run waits for to continue. */
  onFree: () => void = () => {};

  constructor(limit: number, onFull: DelegationLimits["onFull"]) {
    this.free = limit;
    this.refusesWhenFull = onFull === "refuse";
  }

  /** Only when one is free. */
  take(): RunSlot {
    this.free -= 1;
    return new GateSlot(this);
  }

  enter(): boolean {
    if (this.free === 0) return false;
    this.free -= 1;
    return true;
  }

  leave(): void {
    const waking = this.waking.first;
    if (waking !== undefined) {
      waking.subject.hold();
      waking.resolve();
      return;
    }
    this.free += 1;
    this.onFree();
  }
}

class GateSlot implements RunSlot {
  readonly #gate: Slots;
  #isHeld = true;
  #isOpen = true;
  #rests = 0;
  #waking: Waiter<GateSlot, void> | undefined;
  /** The run waits, as the ledger sees it. */
  #wait: Disposable | undefined;

  constructor(gate: Slots) {
    this.#gate = gate;
  }

  rest(): void {
    this.#rests += 1;
    if (this.#rests === 1) this.#giveBack();
  }

  wake(scope: Scope, holding?: Holding, callId?: string): void | Promise<void> {
    if (!this.#isOpen || this.#rests === 0) return;
    this.#rests -= 1;
    if (this.#rests > 0) return;
    scope.throwIfAborted();
    this.#isHeld = this.#gate.enter();
    if (this.#isHeld) return;
    this.#wait = holding?.wait(callId);
    this.#waking = this.#gate.waking.join(this, scope, () => this.#wakes());
    return this.#waking.promise;
  }

  /** The gate lets it continue. */
  hold(): void {
    this.#isHeld = true;
    this.#wakes();
  }

  [Symbol.dispose](): void {
    this.#isOpen = false;
    this.#giveBack();
  }

  #wakes(): void {
    this.#waking = undefined;
    this.#wait?.[Symbol.dispose]();
    this.#wait = undefined;
  }

  #giveBack(): void {
    // A run that waits to continue need not have the slot any more, because the run rests again or has ended.
    this.#waking?.resolve();
    this.#wakes();
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#gate.leave();
  }
}

/** A queue of waiters, first come first served. A waiter leaves when its scope aborts; everything takes constant time. */
class WaitingLine<Subject, Result> {
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

/** One position in a queue. Settling it in either way leaves the queue. */
class Waiter<Subject, Result> {
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
