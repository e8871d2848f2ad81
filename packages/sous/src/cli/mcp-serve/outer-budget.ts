/** What is left of the limits of an outer run: all calls of a server share it, because it was given to the server once. */

import type { Clock } from "../../core/clock.ts";
import type { Budget } from "../../core/limits.ts";
import type { OutsideAllowance } from "../../core/outside-agent.ts";
import type { RootBudget, SharedBudget } from "../../core/shared-budget.ts";
import { CommandError, EXIT } from "../exit-codes.ts";

/** Gives a call its budget, within what is left. */
export type CallBudget = (own: Budget | undefined) => RootBudget | undefined;

/** `outer` is undefined when there is no outer run: then each call has its own budget, and nothing is shared. */
export async function callBudgets(outer: OutsideAllowance | undefined, clock: Clock): Promise<CallBudget> {
  if (outer === undefined) return (own) => own;
  const from = await sharedOf(outer);
  const startedAt = clock.monotonic();
  return (own) => {
    if (outer.depth > outer.maxDepth)
      throw new CommandError(
        `The outer run may be ${outer.maxDepth} levels deep, and this call would be level ${outer.depth}: continue without it`,
        EXIT.limit,
      );
    if (outer.seconds === undefined) return { ...own, from };
    const left = outer.seconds - (clock.monotonic() - startedAt) / 1000;
    if (left <= 0)
      throw new CommandError(
        "The time of the outer run is over: give the run that started this server more",
        EXIT.limit,
      );
    return { ...own, seconds: Math.min(own?.seconds ?? left, left), from };
  };
}

async function sharedOf({ tokens, costUsd }: OutsideAllowance): Promise<SharedBudget | undefined> {
  if (tokens === undefined && costUsd === undefined) return undefined;
  const { openMemoryStore } = await import("../../store/memory.ts");
  return openMemoryStore().sharedBudget("the outer run", { tokens, costUsd });
}
