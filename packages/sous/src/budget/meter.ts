/** One limit of one account: what may be spent, has been spent and is reserved, and how many of its runs move. */

import { type Amount, type AmountUnit, toUsd } from "../core/amount.ts";
import { BudgetExceeded } from "../core/errors.ts";
import type { LimitState } from "../core/limits.ts";
import type { Holder } from "./holder.ts";

/** From this part of a limit on, people are told. */
export const NEAR = 0.8;

export class Meter {
  readonly unit: AmountUnit;
  readonly limit: number;
  /** Whose limit it is, for people: the tree, its children, or the path of a run with a share of its own. */
  readonly of: string;
  /** Every run of the tree draws on it. */
  isOfAll = false;
  spent = 0;
  /** Reserved by calls: comes back, at least in part, when they end. */
  inFlight = 0;
  /** Reserved for last words. */
  kept = 0;
  /** How many runs draw on it and move. While one does, what others wait for may yet come back. */
  moving = 0;
  /** The run that settled last, until it has taken its next step: it may give back more, or ask first. */
  lastSettled: Holder | undefined;
  /** In which round of serving a call was found short here; calls that come later have to wait behind it. */
  shortInRound = 0;
  #isNear = false;

  constructor(unit: AmountUnit, limit: number, of: string) {
    this.unit = unit;
    this.limit = limit;
    this.of = of;
  }

  get free(): number {
    return this.limit - this.spent - this.inFlight - this.kept;
  }

  /** No call is in flight and no run is about to take its next step: the first in line gets what there is. */
  get isQuiet(): boolean {
    return this.inFlight === 0 && this.lastSettled === undefined;
  }

  /** True once: when what is spent has come near the limit. */
  comesNear(): boolean {
    if (this.#isNear || !isNear(this)) return false;
    this.#isNear = true;
    return true;
  }

  state(): LimitState {
    const { unit, of } = this;
    const [limit, spent, reserved] = [this.limit, this.spent, this.inFlight + this.kept];
    return unit === "tokens"
      ? { of, unit, limit, spent, reserved }
      : { of, unit: "costUsd", limit: toUsd(limit), spent: toUsd(spent), reserved: toUsd(reserved) };
  }
}

export function isNear({ spent, limit }: Pick<LimitState, "spent" | "limit">): boolean {
  return spent >= limit * NEAR;
}

/** What a refused call would have made of this limit. */
export function exceededAt(
  { unit, limit, spent, reserved }: LimitState,
  asked: Amount,
  isStart: boolean,
): BudgetExceeded {
  const amount = unit === "costUsd" ? toUsd(asked.nanoUsd) : asked.tokens;
  return new BudgetExceeded(unit, spent + reserved + amount, limit, { spent, reserved, asked: amount, isStart });
}
