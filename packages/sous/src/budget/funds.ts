/** What one account can draw on: its own meters and all above it, and the line of calls that wait for them. */

import type { BudgetExceeded } from "../core/errors.ts";
import type { CallNeed, Lease } from "../core/limits.ts";
import type { Scope } from "../core/scope.ts";
import { CallLease } from "./call-lease.ts";
import { affordableOutput, amountOf, isShort, leastOutput, type Meter, toNanoUsd } from "./meter.ts";
import { WaitingLine } from "./waiting-line.ts";

/** An amount in both units; a meter takes the one it counts. */
export type Amount = { readonly tokens: number; readonly nanoUsd: number };

export const NOTHING: Amount = Object.freeze({ tokens: 0, nanoUsd: 0 });

type CallLine = WaitingLine<{ funds: Funds; need: CallNeed }, Lease>;

export class Funds {
  /** From the topmost account down. Taking goes through all of them or through none. */
  readonly meters: readonly Meter[];
  /** The meters of the topmost account that has any: everybody in the line draws on these. */
  readonly #top: readonly Meter[];
  readonly #queue: { line: CallLine; round: number };

  constructor(own: readonly Meter[], above?: Funds) {
    this.meters = above === undefined ? own : [...above.meters, ...own];
    this.#top = above === undefined ? own : above.#top;
    this.#queue = above === undefined ? { line: new WaitingLine(), round: 1 } : above.#queue;
  }

  /** A lease at once if there is enough and nobody who came earlier waits for it, else a promise of one. */
  reserve(need: CallNeed, scope: Scope): Lease | Promise<Lease> {
    const lease = this.#isBehindSomebody() ? undefined : this.lend(need, NOTHING);
    if (lease !== undefined) return lease;
    const shortage = this.#shortage(need);
    if (shortage !== undefined) throw shortage;
    const waiter = this.#queue.line.join({ funds: this, need: { ...need } }, scope, () => this.serve());
    this.#markShort(need);
    return waiter.promise;
  }

  /** A lease with as much output as can be had, on top of what is already held; undefined below the least. */
  lend(need: CallNeed, held: Amount): CallLease | undefined {
    let output = need.outputCap;
    for (const meter of this.meters) {
      const available = meter.free + (meter.unit === "tokens" ? held.tokens : held.nanoUsd);
      output = Math.min(output, affordableOutput(meter.unit, available, need));
    }
    if (output < leastOutput(need)) return undefined;
    const lease = new CallLease(this, need.promptTokens + output, amountOf("costUsd", need, output), output);
    for (const meter of this.meters) meter.inFlight += meter.unit === "tokens" ? lease.tokens : lease.nanoUsd;
    return lease;
  }

  /** Ends a reservation: its whole amount is free again, and what was really spent is gone. */
  giveBack(reserved: Amount, spentTokens: number, spentUsd: number | null): void {
    const spentNanoUsd = toNanoUsd(spentUsd);
    for (const meter of this.meters) {
      const isTokens = meter.unit === "tokens";
      meter.inFlight -= isTokens ? reserved.tokens : reserved.nanoUsd;
      meter.spent += isTokens ? spentTokens : spentNanoUsd;
    }
    this.serve();
  }

  /** Changes what is kept for last words. Returns the meter that has too little, if one has; then nothing is changed. */
  keep(before: Amount, after: Amount): Meter | undefined {
    const tokens = after.tokens - before.tokens;
    const nanoUsd = after.nanoUsd - before.nanoUsd;
    for (const meter of this.meters) {
      const more = meter.unit === "tokens" ? tokens : nanoUsd;
      if (more > 0 && more > meter.free) return meter;
    }
    for (const meter of this.meters) meter.kept += meter.unit === "tokens" ? tokens : nanoUsd;
    this.serve();
    return undefined;
  }

  /** Ends a reservation of which nothing was spent. Those who wait are not served yet. */
  withdraw(reserved: Amount): void {
    for (const meter of this.meters) meter.inFlight -= meter.unit === "tokens" ? reserved.tokens : reserved.nanoUsd;
  }

  /** Lets whoever waits go on, in order. A call that is short holds up those behind it only where it is short. */
  serve(): void {
    const queue = this.#queue;
    queue.round += 1;
    for (let waiter = queue.line.first; waiter !== undefined; waiter = waiter.next) {
      const { funds, need } = waiter.subject;
      const shortage = funds.#shortage(need);
      if (shortage !== undefined) {
        waiter.reject(shortage);
        continue;
      }
      const lease = funds.#isBehindSomebody() ? undefined : funds.lend(need, NOTHING);
      if (lease !== undefined) waiter.resolve(lease);
      else if (funds.#markShort(need)) return;
    }
  }

  /** The first limit that could not give the least this call needs even if all calls in flight gave everything back. */
  #shortage(need: CallNeed): BudgetExceeded | undefined {
    for (const meter of this.meters) {
      if (isShort(meter.unit, meter.reachable, need)) {
        return meter.exceededBy(amountOf(meter.unit, need, leastOutput(need)));
      }
    }
    return undefined;
  }

  #isBehindSomebody(): boolean {
    for (const meter of this.meters) if (meter.shortInRound === this.#queue.round) return true;
    return false;
  }

  /** Remembers where this call is short. True if that is at the top, where everybody else has to queue behind it. */
  #markShort(need: CallNeed): boolean {
    for (const meter of this.meters) {
      if (isShort(meter.unit, meter.free, need)) meter.shortInRound = this.#queue.round;
    }
    return this.#top.some((meter) => meter.shortInRound === this.#queue.round);
  }
}
