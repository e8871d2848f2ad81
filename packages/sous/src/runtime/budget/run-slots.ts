/** The gate of `max_concurrent`: how many runs of a tree may be at work, not counting those that wait for others. */

import type { Holding, RunSlot } from "../../core/limits.ts";
import type { Scope } from "../../core/scope.ts";
import type { DelegationLimits } from "../../core/words/limits.ts";

export class Slots {
  /** A child that finds no slot is refused instead of waiting for one. */
  readonly refusesWhenFull: boolean;
  /** Runs that wait to continue, first come first served; they come before those that wait to start. */
  readonly waking = new Set<GateSlot>();
  free: number;
  /**
   * Served when a slot is free and no run waits to continue. An object: for a function that is assigned here, V8 keeps the whole
   * tree until the next major collection (three quarters of what survives young collections).
   */
  queue: { serve(): void } | undefined;

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
    const [first] = this.waking;
    if (first !== undefined) {
      first.hold();
      return;
    }
    this.free += 1;
    this.queue?.serve(); // guard: tell-of-a-free-slot
  }
}

class GateSlot implements RunSlot {
  readonly #gate: Slots;
  #isHeld = true;
  #isOpen = true;
  #rests = 0;
  /** Set while the run waits to continue. */
  #waking: { resolve(): void; readonly link: Disposable } | undefined;
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
    this.#wait = holding?.wait(callId); // guard: wait-for-a-slot
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const link = scope.onAbort((reason) => {
      reject(reason);
      this.#endWaking();
    });
    this.#waking = { resolve, link };
    this.#gate.waking.add(this);
    return promise;
  }

  /** The gate lets it continue. */
  hold(): void {
    this.#isHeld = true;
    this.#endWaking();
  }

  [Symbol.dispose](): void {
    this.#isOpen = false;
    this.#giveBack();
  }

  #endWaking(): void {
    const waking = this.#waking;
    this.#waking = undefined;
    this.#gate.waking.delete(this);
    waking?.link[Symbol.dispose]();
    this.#wait?.[Symbol.dispose]();
    this.#wait = undefined;
    waking?.resolve();
  }

  #giveBack(): void {
    // A run that waits to continue no longer needs the slot: it rests again or has ended.
    this.#endWaking();
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#gate.leave();
  }
}

/** Ends a rest. A stopped run no longer needs a slot, and the result it waited for still counts. */
export async function wakeUp(slot: RunSlot, scope: Scope, holding?: Holding, callId?: string): Promise<void> {
  try {
    if (!scope.aborted) await slot.wake(scope, holding, callId);
  } catch (error) {
    if (!scope.aborted) throw error;
  }
}

/** Runs `work` while the run holds no slot. */
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
