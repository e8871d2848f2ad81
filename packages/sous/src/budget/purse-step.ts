/** What one step of a process says to the books of a shared budget, and what it remembers of the answer. */

import { NO_AMOUNT, plus } from "../core/amount.ts";
import { BudgetExceeded } from "../core/errors.ts";
import type { PurseShare, PurseState, PurseStep } from "../core/purse.ts";
import type { PursePort } from "../core/shared-budget.ts";
import type { Holder } from "./holder.ts";
import type { Waiter } from "./waiter.ts";

type Step = Parameters<PursePort["step"]>[0];

/** What was asked in one step, and who waits until it is written down. */
export type Asked = {
  readonly asks: readonly Waiter[];
  readonly starts: readonly Start[];
  readonly flushes: readonly (() => void)[];
  readonly moves: boolean;
  readonly mayLower: boolean;
};

/** What the books say about this process. */
export type Written = {
  readonly share: PurseShare;
  readonly moves: boolean;
  readonly mayLower: boolean;
  /** Whose need stands in the books. */
  readonly first: Waiter | undefined;
};

/** A child that wants to be counted. */
export type Start = { settle(error: unknown): void };

const NOTHING_TAKEN: PurseShare = { spent: NO_AMOUNT, inFlight: NO_AMOUNT, kept: NO_AMOUNT, executions: 0 };

export const NOTHING_WRITTEN: Written = { share: NOTHING_TAKEN, moves: false, mayLower: true, first: undefined };

export function stepFor({ asks, starts, moves, mayLower }: Asked, share: PurseShare): Omit<Step, "lapses"> {
  return {
    share,
    starts: starts.length,
    asks: asks.map(({ wanted, holder, since }) => ({ ...wanted, above: keptAbove(holder), since })),
    moves,
    mayLower,
  };
}

export function isSame(one: PurseShare, other: PurseShare): boolean {
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

function keptAbove({ above }: Holder): PurseStep["asks"][number]["above"] {
  let kept = NO_AMOUNT;
  for (let each = above; each !== undefined; each = each.above) kept = plus(kept, each.kept);
  return kept;
}

export function noneLeft({ executions, limits }: PurseState): BudgetExceeded {
  return new BudgetExceeded("executions", executions, limits.executions ?? 0);
}
