/** What a child pays before it may start: time, an execution, a reserve for last words and a place. All of it or nothing. */

import { BudgetExceeded } from "../core/errors.ts";
import type { Account, CallNeed, RunSlot, RunSlots, WrapUpLease } from "../core/limits.ts";
import type { Scope } from "../core/scope.ts";
import type { ChildTime } from "./child-time.ts";

export type Fee = {
  /** Where the start is counted. A child's own account counts only what is below it. */
  readonly above: Account;
  readonly account: Account;
  /** Its first prompt and a short answer: what it keeps back for its last words. */
  readonly lastWords: CallNeed;
  readonly scope: Scope;
  readonly childTime: ChildTime;
  readonly slots: RunSlots;
  /** It had started before a restart: its start is counted already, and stays so. */
  readonly isCounted: boolean;
};

export type Admission = {
  readonly lastWords: WrapUpLease | undefined;
  /** The place, or the wait for one. */
  readonly place: RunSlot | Promise<RunSlot>;
};

/** Throws `BudgetExceeded`, or a `ToolFailure` when the tree is full; then nothing was spent. At once unless it must wait for siblings. */
export function pay(fee: Fee): Admission | Promise<Admission> {
  const { above, account, childTime } = fee;
  childTime.check();
  const starting = fee.isCounted ? undefined : above.startExecution();
  if (starting instanceof Promise) return starting.then(() => payMetered(fee));
  return account.isMetered ? payMetered(fee) : takePlace(fee, undefined);
}

async function payMetered(fee: Fee): Promise<Admission> {
  let lastWords: WrapUpLease;
  try {
    lastWords = await reserveLastWords(fee);
  } catch (error) {
    if (!fee.isCounted) fee.above.undoExecution();
    throw error;
  }
  return takePlace(fee, lastWords);
}

function takePlace({ above, slots, scope, isCounted }: Fee, lastWords: WrapUpLease | undefined): Admission {
  try {
    return { lastWords, place: slots.take(scope) };
  } catch (error) {
    lastWords?.[Symbol.dispose]();
    if (!isCounted) above.undoExecution();
    throw error;
  }
}

/** Waits for siblings' calls like any reservation, and throws when nothing in flight could release enough. */
async function reserveLastWords({ account, lastWords, scope }: Fee): Promise<WrapUpLease> {
  try {
    return await account.reserveWrapUp(lastWords);
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
  }
  const lease = await account.reserve({ ...lastWords, outputCap: lastWords.minOutput }, scope);
  // Giving the lease back first would hand it to a sibling that waits for the same, and that one would hand it back: for ever.
  return account.reserveWrapUp(lastWords, lease);
}
