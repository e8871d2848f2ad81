/** The row of this process in the books of a shared budget: a step makes it, and `leave` deletes it when no tree needs it. */

import { NO_AMOUNT, plus } from "../../core/amount.ts";
import type { Clock } from "../../core/clock.ts";
import { BudgetExceeded, StoreError } from "../../core/errors.ts";
import type { SharedBudgetPort } from "../../core/shared-budget.ts";
import type {
  SharedBudgetReply,
  SharedBudgetShare,
  SharedBudgetState,
  SharedBudgetStep,
} from "../../core/shared-budget-books.ts";
import { LimitMeter } from "./funds.ts";
import type { Holder } from "./holder.ts";
import type { Waiter } from "./waiter.ts";

export class OwnRow {
  /** The meters of all runs of this process: never short, only counted. */
  readonly meters: readonly [tokens: LimitMeter, money: LimitMeter];
  /** Children of this process that have started or wait to start. */
  executions = 0;
  /** The row of this process as it is in the books. */
  written: Written = NOTHING_WRITTEN;
  readonly #books: SharedBudgetPort;
  readonly #clock: Clock;
  #isThere = false;
  #isLeaving = false;
  #lapses = 0;

  constructor(books: SharedBudgetPort, clock: Clock, of: string) {
    const counted = (unit: LimitMeter["unit"]) => new LimitMeter(unit, Number.POSITIVE_INFINITY, of);
    this.meters = [counted("tokens"), counted("nanoUsd")];
    this.#books = books;
    this.#clock = clock;
  }

  /** The share that the row must say now. */
  share(): SharedBudgetShare {
    const [tokens, money] = this.meters;
    return {
      spent: { tokens: tokens.spent, nanoUsd: money.spent },
      inFlight: { tokens: tokens.inFlight, nanoUsd: money.inFlight },
      kept: { tokens: tokens.kept, nanoUsd: money.kept }, // guard: shared-reserve
      executions: this.executions,
    };
  }

  get isHolding(): boolean {
    return this.meters.some(({ inFlight, kept }) => inFlight + kept > 0);
  }

  /** It may be in the books. */
  get isThere(): boolean {
    return this.#isThere;
  }

  /** It is unknown whether the row was deleted. Until then a step would count earlier spending twice. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  step(step: Omit<Parameters<SharedBudgetPort["step"]>[0], "lapses">): SharedBudgetReply | Promise<SharedBudgetReply> {
    this.#isThere = true;
    const reply = withPatience(() => this.#books.step({ ...step, lapses: this.#lapses }), this.#clock);
    return reply instanceof Promise ? reply.then((late) => this.#noteLapses(late)) : this.#noteLapses(reply);
  }

  leave(): void | Promise<void> {
    this.#isLeaving = true;
    const leaving = withPatience(() => this.#books.leave(), this.#clock);
    return leaving instanceof Promise ? leaving.then(() => this.#left()) : this.#left();
  }

  #noteLapses(reply: SharedBudgetReply): SharedBudgetReply {
    this.#lapses = reply.lapses;
    return reply;
  }

  /** The books now count what was spent as past. */
  #left(): void {
    const { spent, executions } = this.written.share;
    for (const meter of this.meters) meter.spent -= spent[meter.unit];
    this.executions -= executions;
    this.#isThere = false;
    this.#isLeaving = false;
    this.written = NOTHING_WRITTEN;
  }
}

/** Retries a store that is busy for a moment; one that stays away is a `StoreError`, and nothing may be spent. */
const MAX_RETRIES = 4;
const FIRST_RETRY_MS = 50;

function withPatience<T>(step: () => T | Promise<T>, clock: Clock, attempt = 0): T | Promise<T> {
  const again = async (error: unknown): Promise<T> => {
    if (!(error instanceof StoreError) || attempt === MAX_RETRIES) throw error;
    await new Promise<void>((resolve) => void clock.timer(FIRST_RETRY_MS * 2 ** attempt, resolve));
    return withPatience(step, clock, attempt + 1);
  };
  try {
    const result = step();
    return result instanceof Promise ? result.catch(again) : result;
  } catch (error) {
    if (error instanceof StoreError) return again(error);
    throw error;
  }
}

type Step = Parameters<SharedBudgetPort["step"]>[0];

/** The requests of one step, and the callers that wait until it is written. */
export type Asked = {
  readonly asks: readonly Waiter[];
  readonly starts: readonly Start[];
  readonly flushes: readonly (() => void)[];
  readonly moves: boolean;
  readonly mayLower: boolean;
};

/** The row of this process as it is in the books. */
type Written = {
  readonly share: SharedBudgetShare;
  readonly moves: boolean;
  readonly mayLower: boolean;
  /** The waiter whose need is in the books. */
  readonly first: Waiter | undefined;
};

/** A child to be counted as started. */
export type Start = { settle(error: unknown): void };

const NOTHING_TAKEN: SharedBudgetShare = { spent: NO_AMOUNT, inFlight: NO_AMOUNT, kept: NO_AMOUNT, executions: 0 };

const NOTHING_WRITTEN: Written = { share: NOTHING_TAKEN, moves: false, mayLower: true, first: undefined };

export function stepFor({ asks, starts, moves, mayLower }: Asked, share: SharedBudgetShare): Omit<Step, "lapses"> {
  return {
    share,
    starts: starts.length,
    asks: asks.map(({ wanted, holder, since }) => ({ ...wanted, above: keptAbove(holder), since })),
    moves, // guard: shared-moves
    mayLower,
  };
}

export function isSame(one: SharedBudgetShare, other: SharedBudgetShare): boolean {
  return (
    one.executions === other.executions &&
    (["spent", "inFlight", "kept"] as const).every(
      (name) => one[name].tokens === other[name].tokens && one[name].nanoUsd === other[name].nanoUsd,
    )
  );
}

export function isUnanswered({ since }: Waiter): boolean {
  return since === undefined;
}

function keptAbove({ above }: Holder): SharedBudgetStep["asks"][number]["above"] {
  let kept = NO_AMOUNT;
  for (let each = above; each !== undefined; each = each.above) kept = plus(kept, each.kept);
  return kept;
}

export function noneLeft({ executions, limits }: SharedBudgetState): BudgetExceeded {
  return new BudgetExceeded("executions", executions, limits.executions ?? 0);
}
