/** The limits of a shared budget as people see them, and which of them keeps a run waiting. */

import { amountAt, plus, toUsd } from "../core/amount.ts";
import type { LimitState } from "../core/limits.ts";
import type { PurseState } from "../core/purse.ts";
import type { Wanted } from "./funds.ts";

export function purseLimits({ limits, spent, reserved, executions }: PurseState, of: string): LimitState[] {
  const states: LimitState[] = [];
  if (limits.tokens !== undefined)
    states.push({ of, unit: "tokens", limit: limits.tokens, spent: spent.tokens, reserved: reserved.tokens });
  if (limits.nanoUsd !== undefined) {
    const [limit, gone, held] = [limits.nanoUsd, spent.nanoUsd, reserved.nanoUsd].map(toUsd);
    states.push({ of, unit: "costUsd", limit: limit ?? 0, spent: gone ?? 0, reserved: held ?? 0 });
  }
  if (limits.executions !== undefined)
    states.push({ of, unit: "executions", limit: limits.executions, spent: executions, reserved: 0 });
  return states;
}

/** Of two limits the one that has less of what is wanted. */
export function shorterFor(wanted: Wanted, limits: readonly LimitState[], of: string): LimitState {
  const full = plus(amountAt(wanted.need, wanted.need.enough), wanted.grow);
  let shortest: LimitState = { of, unit: "tokens", limit: 0, spent: 0, reserved: 0 };
  let most = Number.NEGATIVE_INFINITY;
  for (const each of limits) {
    if (each.unit === "executions") continue;
    const asked = each.unit === "costUsd" ? toUsd(full.nanoUsd) : full.tokens;
    const missing = (each.spent + each.reserved + asked) / Math.max(each.limit, Number.MIN_VALUE);
    if (missing <= most) continue;
    shortest = each;
    most = missing;
  }
  return shortest;
}
