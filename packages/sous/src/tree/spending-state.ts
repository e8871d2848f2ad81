/** What a tree may spend and has spent: every limit with who holds what of it, and the event of a limit that is near. */

import type { Journal } from "../core/journal.ts";
import type { LimitState, SpendingState } from "../core/limits.ts";
import type { AgentBook } from "../subagents/agent-book.ts";
import type { Spending } from "./parts.ts";

/** `usedMs` is how long the root has run. */
export function spendingState(spending: Spending, book: AgentBook, usedMs: number): SpendingState {
  const { root, children, childTime, budget } = spending;
  const limits = new Map<string, LimitState>();
  const add = (limit: LimitState) => void limits.set(`${limit.unit} ${limit.of}`, limit);
  if (budget.seconds !== undefined)
    add({ of: "tree", unit: "seconds", limit: budget.seconds, spent: usedMs / 1000, reserved: 0 });
  const accounts = new Set([root, children, ...[...book.live].map(({ account }) => account)]);
  for (const account of accounts) for (const limit of account.limits()) add(limit);
  const seconds = childTime.state();
  if (seconds !== undefined) add(seconds);
  return { limits: [...limits.values()], runs: root.holdings() };
}

/** Most of a limit is spent: an event of the run that came near it, or of the root. */
export function tellBudgetNear(path: string | undefined, limit: LimitState, book: AgentBook, journal: Journal): void {
  const entry = path === undefined ? undefined : book.at(path);
  const run = entry?.run ?? [...book.live].find(({ parent }) => parent === undefined);
  if (run !== undefined) journal.delta(run.who, { type: "budget-near", limit });
}
