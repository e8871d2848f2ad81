/** The gate of `max_concurrent`: how many runs of a tree may be at work, not counting those that wait for others. */

import type { DelegationLimits, Holding, RunSlot } from "../core/limits.ts";
import type { Scope } from "../core/scope.ts";
import { type Waiter, WaitingLine } from "./waiting-line.ts";

/** Ends a rest. A stopped run needs no place any more, and what it waited for counts all the same. */
export async function wakeUp(slot: RunSlot, scope: Scope, holding?: Holding, callId?: string): Promise<void> {
  try {
    if (!scope.aborted) await slot.wake(scope, holding, callId);
  } catch (error) {
    if (!scope.aborted) throw error;
  }
}

/** Does something while a run holds no place. */
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
  /** A child that finds no place is refused instead of waiting for one. */
  readonly refusesWhenFull: boolean;
  /** Runs that wait to go on; they come before those that wait to start. */
  readonly waking = new WaitingLine<GateSlot, void>();
  free: number;
  /** Told when a place is free that no run waits for to go on. */
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

  /** The gate lets it go on. */
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
    // Whoever waits to go on need not have the slot any more, because the run rests again or has ended.
    this.#waking?.resolve();
    this.#wakes();
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#gate.leave();
  }
}
