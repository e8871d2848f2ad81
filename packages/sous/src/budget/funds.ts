/** What one account can draw on: its own limits and all above it. Taking goes through all of them or through none. */

import {
  type Amount,
  amountAt,
  beyond,
  type Need,
  NO_AMOUNT,
  outputThatFits,
  smaller,
  toNanoUsd,
  wholeUnits,
} from "../core/amount.ts";
import type { Lease, Spent } from "../core/limits.ts";
import type { Holder } from "./holder.ts";
import type { Meter } from "./meter.ts";

/** What a run asks for in one step. */
export type Wanted = {
  readonly need: Need;
  /** What its reserve grows by. */
  readonly grow: Amount;
  /** The reserve that this call spends. */
  readonly instead: Amount;
};

export class Funds {
  /** From the topmost account down: what a parent draws on is the beginning of what its child draws on. */
  readonly meters: readonly Meter[];

  constructor(own: readonly Meter[], above?: Funds) {
    this.meters = above === undefined ? own : [...above.meters, ...own];
  }

  get isLimited(): boolean {
    return this.meters.some(({ limit }) => limit !== Number.POSITIVE_INFINITY);
  }

  /** How much output can be had now; undefined when it has to wait. `round` is that of the line that serves it. */
  affordable(wanted: Wanted, round: number): number | undefined {
    let output = wanted.need.most;
    for (const meter of this.meters) {
      const here = outputAt(meter, wanted, round);
      if (here < leastAt(meter, wanted.need)) return undefined;
      output = Math.min(output, here);
    }
    return output;
  }

  /** Remembers and returns where this call is short: calls that come later wait behind it there. */
  markShort(wanted: Wanted, round: number): Meter[] {
    const short = this.meters.filter((meter) => outputAt(meter, wanted, round) < leastAt(meter, wanted.need));
    for (const meter of short) meter.shortInRound = round;
    return short;
  }

  /** The first limit that could not pay for the least even if all came back but what the runs above this one keep. */
  neverEnough({ need }: Wanted, above: Holder | undefined): Meter | undefined {
    return this.meters.find((meter, index) => {
      const within = meter.limit - meter.spent - keptAbove(above, meter, index);
      return outputThatFits(within, need.prompt[meter.unit], need.perToken[meter.unit]) < need.least;
    });
  }

  /** Moves what a call takes from free to reserved. */
  take({ need, grow, instead }: Wanted, output: number): Amount {
    const amount = amountAt(need, output);
    for (const meter of this.meters) {
      meter.inFlight += amount[meter.unit];
      meter.kept += grow[meter.unit] - instead[meter.unit];
    }
    return amount;
  }
}

/** What a share of this size would take beyond what can be had: the same figure as for a call. */
export function cannotShare(meter: Meter, index: number, limit: number, above: Holder | undefined): boolean {
  return limit > meter.limit - meter.spent - keptAbove(above, meter, index);
}

/** The runs above wait for this one, or at least do not end before it: what they keep does not come back meanwhile. */
function keptAbove(above: Holder | undefined, meter: Meter, index: number): number {
  let kept = 0;
  for (let each = above; each !== undefined; each = each.above) {
    if (index < each.funds.meters.length) kept += each.kept[meter.unit];
  }
  return kept;
}

function outputAt(meter: Meter, { need, grow, instead }: Wanted, round: number): number {
  const { unit, free } = meter;
  // No call overtakes an earlier one that is short here; the reserve that a run has for this call is its own.
  const open = meter.shortInRound === round ? Math.min(0, free) : free;
  return outputThatFits(open + instead[unit], need.prompt[unit] + grow[unit], need.perToken[unit]);
}

/** All that it asks for, unless waiting longer cannot bring it. */
function leastAt(meter: Meter, need: Need): number {
  return meter.isQuiet ? need.least : need.enough;
}

/** The reservation of one attempt to call a model. */
class CallLease implements Lease {
  readonly amount: Amount;
  readonly outputCap: number;
  readonly #holder: Holder;
  #isOpen = true;

  constructor(holder: Holder, amount: Amount, outputCap: number) {
    this.#holder = holder;
    this.amount = amount;
    this.outputCap = outputCap;
  }

  /** More than was reserved is counted in full: an overspend is never hidden. */
  settle({ tokens, costUsd }: Spent, lastWords: Amount = NO_AMOUNT): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const spent = {
      tokens: wholeUnits(tokens, this.amount.tokens),
      nanoUsd: wholeUnits(toNanoUsd(costUsd), this.amount.nanoUsd),
    };
    const wanted = beyond(lastWords, this.#holder.kept);
    this.#holder.giveBack(this.amount, spent, smaller(wanted, beyond(this.amount, spent)));
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#holder.giveBack(this.amount, NO_AMOUNT, NO_AMOUNT);
  }
}

/** Takes what a call of this run needs from all its limits. */
export function lend(holder: Holder, wanted: Wanted, output: number, cap: number): CallLease {
  const amount = holder.funds.take(wanted, output);
  holder.inCall = amount;
  holder.kept = {
    tokens: holder.kept.tokens + wanted.grow.tokens - wanted.instead.tokens,
    nanoUsd: holder.kept.nanoUsd + wanted.grow.nanoUsd - wanted.instead.nanoUsd,
  };
  return new CallLease(holder, amount, cap);
}
