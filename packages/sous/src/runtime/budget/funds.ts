/** The limits one account draws on: its own and all above it. A call takes from all of them or from none. */

import {
  type Amount,
  type AmountUnit,
  amountAt,
  beyond,
  type Need,
  NO_AMOUNT,
  outputThatFits,
  plus,
  smaller,
  toNanoUsd,
  toUsd,
  wholeUnits,
} from "../../core/amount.ts";
import { BudgetExceeded } from "../../core/errors.ts";
import type { Lease, LimitState, Spent } from "../../core/limits.ts";
import type { Holder } from "./holder.ts";
import type { RowFunds } from "./shared-budget-row.ts";

/** The part of a limit from which people are notified. */
export const NEAR = 0.8;

/** One limit of one account: what may be spent, has been spent and is reserved, and how many of its runs move. */
export class LimitMeter<Unit extends AmountUnit | "executions" = AmountUnit> {
  readonly unit: Unit;
  /** Only that of a row in a store changes. */
  limit: number;
  /** The owner of the limit, for people: the tree, its children, or the path of a run with a share of its own. */
  readonly of: string;
  /** Every run of the tree draws on it. */
  isOfAll = false;
  spent = 0;
  /** Reserved by calls: comes back, at least in part, when they end. */
  inFlight = 0;
  /** Reserved for last words. */
  kept = 0;
  /** The number of runs that draw on it and move. While one moves, more may come back for those that wait. */
  moving = 0;
  /** The run that settled last, until it has taken its next step: it may give back more, or ask first. */
  lastSettled: Holder | undefined;
  /** The round of serving in which a call was found short here; calls that come later have to wait behind it. */
  shortInRound = 0;
  #isNear = false;

  constructor(unit: Unit, limit: number, of: string) {
    this.unit = unit;
    this.limit = limit;
    this.of = of;
  }

  get free(): number {
    return this.limit - this.spent - this.inFlight - this.kept; // guard: free-amount
  }

  /** The amount that could be free if everything came back. */
  get unspent(): number {
    return this.limit - this.spent;
  }

  /** No call is in flight and no run is about to take its next step: the first in the queue gets what there is. */
  get isQuiet(): boolean {
    return this.inFlight === 0 && this.lastSettled === undefined; // guard: quiet-meter
  }

  /** True once: when what is spent has come near the limit. */
  comesNear(): boolean {
    if (this.#isNear || !isNear(this)) return false;
    this.#isNear = true;
    return true;
  }

  state(): LimitState {
    return this.stateWith(this.spent, this.inFlight + this.kept);
  }

  protected stateWith(spent: number, reserved: number): LimitState {
    const { unit, of, limit } = this;
    return unit === "nanoUsd"
      ? { of, unit: "costUsd", limit: toUsd(limit), spent: toUsd(spent), reserved: toUsd(reserved) }
      : { of, unit, limit, spent, reserved };
  }
}

export function isNear({ spent, limit }: Pick<LimitState, "spent" | "limit">): boolean {
  return spent >= limit * NEAR;
}

/** The error for a refused call, with what it would have brought this limit to. */
export function exceededAt(
  { unit, limit, spent, reserved }: LimitState,
  asked: Amount,
  isStart: boolean,
): BudgetExceeded {
  const amount = unit === "costUsd" ? toUsd(asked.nanoUsd) : asked.tokens;
  return new BudgetExceeded(unit, spent + reserved + amount, limit, { spent, reserved, asked: amount, isStart });
}

/** The request of a run in one step. */
export type Wanted = {
  readonly need: Need;
  /** The growth of its reserve. */
  readonly grow: Amount;
  /** The reserve that this call spends. */
  readonly instead: Amount;
};

export class Funds {
  /** The limits that the tree decides on by itself, from the topmost account down: those of a parent are the beginning of its child's. */
  readonly local: readonly LimitMeter[];
  /** The limits that are rows of a store; undefined without any. */
  readonly shared: RowFunds | undefined;
  /** All of them. */
  readonly meters: readonly LimitMeter[];

  constructor(own: readonly LimitMeter[], above?: Funds, shared: RowFunds | undefined = above?.shared) {
    this.local = above === undefined ? own : [...above.local, ...own];
    this.shared = shared;
    this.meters = shared === undefined ? this.local : [...shared.meters, ...this.local];
  }

  get isLimited(): boolean {
    return this.meters.some(({ limit }) => limit !== Number.POSITIVE_INFINITY);
  }

  /** Output tokens that can be had now; undefined when it has to wait. `round` is that of the queue that serves it. */
  affordable(wanted: Wanted, round: number): number | undefined {
    let output = wanted.need.most;
    for (const meter of this.local) {
      const here = outputAt(meter, wanted, round); // guard: every-limit-above
      if (here < leastAt(meter, wanted.need)) return undefined;
      output = Math.min(output, here);
    }
    return output;
  }

  /** Marks and returns the limits where this call is short: later calls wait behind it there. */
  markShort(wanted: Wanted, round: number): LimitMeter[] {
    const short = this.local.filter((meter) => outputAt(meter, wanted, round) < leastAt(meter, wanted.need));
    for (const meter of short) meter.shortInRound = round;
    return short;
  }

  /** The first limit too small for the least output, even if all came back except the reserves of the runs above. */
  neverEnough({ need }: Wanted, above: Holder | undefined): LimitMeter | undefined {
    return this.local.find((meter, index) => {
      const within = meter.unspent - keptAbove(above, meter, index); // guard: never-enough
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
    this.shared?.changed();
    return amount;
  }
}

/** True when a share of this size is larger than what could ever come free. Computed as for a call. */
export function cannotShare(meter: LimitMeter, index: number, limit: number, above: Holder | undefined): boolean {
  return limit > meter.unspent - keptAbove(above, meter, index); // guard: share-within-limit
}

/** The runs above do not end before this one, so their reserves do not come back meanwhile. */
function keptAbove(above: Holder | undefined, meter: LimitMeter, index: number): number {
  let kept = 0;
  for (let each = above; each !== undefined; each = each.above) {
    const { local, shared } = each.funds;
    if (local[index] === meter || shared?.local[index] === meter) kept += each.kept[meter.unit];
  }
  return kept;
}

function outputAt(meter: LimitMeter, { need, grow, instead }: Wanted, round: number): number {
  const { unit, free } = meter;
  // No call overtakes an earlier one that is short here. The run's own reserve for this call does not count against it.
  const open = meter.shortInRound === round ? Math.min(0, free) : free; // guard: no-overtaking
  return outputThatFits(open + instead[unit], need.prompt[unit] + grow[unit], need.perToken[unit]);
}

/** All that it asks for, unless a longer wait cannot bring more. */
function leastAt(meter: LimitMeter, need: Need): number {
  return meter.isQuiet ? need.least : need.enough; // guard: whole-before-less
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
    // guard: reserve-within-rest
    this.#holder.giveBack(this.amount, spent, smaller(wanted, beyond(this.amount, spent)));
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return; // guard: settle-once
    this.#isOpen = false;
    this.#holder.giveBack(this.amount, NO_AMOUNT, NO_AMOUNT);
  }
}

/** Takes what a call of this run needs from all its limits. */
export function lend(holder: Holder, wanted: Wanted, output: number, cap: number): CallLease {
  const amount = holder.funds.take(wanted, output);
  holder.inCall = plus(holder.inCall, amount);
  holder.kept = {
    tokens: holder.kept.tokens + wanted.grow.tokens - wanted.instead.tokens,
    nanoUsd: holder.kept.nanoUsd + wanted.grow.nanoUsd - wanted.instead.nanoUsd,
  };
  return new CallLease(holder, amount, cap);
}
