/** What a child pays before it may start: time, an execution, a place and its first call. All of it or nothing. */

import type { Account, StartAsk, Started } from "../core/limits.ts";
import type { ChildTime } from "./child-time.ts";

export type Fee = StartAsk & {
  /** Where the start is counted. A child's own account counts only what is below it. */
  readonly counting: Account;
  readonly account: Account;
  readonly childTime: ChildTime;
  /** Told when it stands in the line, or has started. */
  onAsked(): void;
};

/** Throws `BudgetExceeded`, or a `ToolFailure` when the tree is full; then nothing was spent. At once unless it must wait. */
export function pay(fee: Fee): Started | Promise<Started> {
  fee.childTime.check();
  const starting = fee.isCounted ? undefined : fee.counting.startExecution();
  return starting instanceof Promise ? starting.then(() => start(fee)) : start(fee);
}

function start(fee: Fee): Started | Promise<Started> {
  const giveUp = (error: unknown): never => {
    if (!fee.isCounted) fee.counting.undoExecution();
    throw error;
  };
  try {
    const started = fee.account.start(fee);
    fee.onAsked();
    return started instanceof Promise ? started.catch(giveUp) : started;
  } catch (error) {
    return giveUp(error);
  }
}
