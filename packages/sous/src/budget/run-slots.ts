/** The gate of `max_concurrent`: how many runs of a tree may be at work, not counting those that wait for others. */

import { ToolFailure } from "../core/errors.ts";
import type { DelegationLimits, RunSlot, RunSlots } from "../core/limits.ts";
import type { Scope } from "../core/scope.ts";
import { type Waiter, WaitingLine } from "./waiting-line.ts";

export function createRunSlots(limit: number, onFull: DelegationLimits["onFull"]): RunSlots {
  const gate = new Gate(limit);
  return {
    take(scope) {
      scope.throwIfAborted();
      if (gate.enter()) return new GateSlot(gate);
      if (onFull === "refuse") throw new ToolFailure("maximum concurrent subagent limit reached");
      return gate.starting.join(undefined, scope, () => {}).promise;
    },
  };
}

/** Ends a rest. A stopped run needs no place any more, and what it waited for counts all the same. */
export async function wakeUp(slot: RunSlot, scope: Scope): Promise<void> {
  try {
    if (!scope.aborted) await slot.wake(scope);
  } catch (error) {
    if (!scope.aborted) throw error;
  }
}

class Gate {
  /** Runs that wait to go on; they come before those that wait to start. */
  readonly waking = new WaitingLine<GateSlot, void>();
  readonly starting = new WaitingLine<undefined, RunSlot>();
  #free: number;

  constructor(limit: number) {
    this.#free = limit;
  }

  enter(): boolean {
    if (this.#free === 0) return false;
    this.#free -= 1;
    return true;
  }

  leave(): void {
    const waking = this.waking.first;
    const starting = this.starting.first;
    if (waking !== undefined) {
      waking.subject.hold();
      waking.resolve();
    } else if (starting !== undefined) starting.resolve(new GateSlot(this));
    else this.#free += 1;
  }
}

class GateSlot implements RunSlot {
  readonly #gate: Gate;
  #isHeld = true;
  #isOpen = true;
  #rests = 0;
  #waking: Waiter<GateSlot, void> | undefined;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  rest(): void {
    this.#rests += 1;
    if (this.#rests === 1) this.#giveBack();
  }

  wake(scope: Scope): void | Promise<void> {
    if (!this.#isOpen || this.#rests === 0) return;
    this.#rests -= 1;
    if (this.#rests > 0) return;
    scope.throwIfAborted();
    this.#isHeld = this.#gate.enter();
    if (this.#isHeld) return;
    this.#waking = this.#gate.waking.join(this, scope, () => {
      this.#waking = undefined;
    });
    return this.#waking.promise;
  }

  /** The gate lets it go on. */
  hold(): void {
    this.#isHeld = true;
    this.#waking = undefined;
  }

  [Symbol.dispose](): void {
    this.#isOpen = false;
    this.#giveBack();
  }

  #giveBack(): void {
    // Whoever waits to go on need not have the slot any more, because the run rests again or has ended.
    this.#waking?.resolve();
    this.#waking = undefined;
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#gate.leave();
  }
}
