/** What a tree may spend and has spent, told to people: every limit with who holds what of it, and news of limits as events. */

import { isNear, NEAR } from "./budget/meter.ts";
import type { Journal } from "./core/journal.ts";
import type { LimitState, SpendingState } from "./core/limits.ts";
import type { OpenTree } from "./open-tree.ts";
import type { AgentBook } from "./subagents/agent-book.ts";
import type { Spending } from "./tree-parts.ts";

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

/** Tells once when the root has used most of the time that its tree has. */
export function watchTreeTime({ tree, deadlines, journal }: OpenTree): Disposable | undefined {
  const ofTree = (): LimitState | undefined =>
    tree.spending().limits.find(({ of, unit }) => of === "tree" && unit === "seconds");
  const limit = ofTree();
  if (limit === undefined || isNear(limit)) return undefined;
  return deadlines.add((limit.limit * NEAR - limit.spent) * 1000, () => {
    const now = ofTree();
    if (now !== undefined) tellBudgetNear(undefined, now, tree.book, journal);
  });
}

/** Most of a limit is spent: an event of the run that came near it, or of the root. */
export function tellBudgetNear(path: string | undefined, limit: LimitState, book: AgentBook, journal: Journal): void {
  const entry = path === undefined ? undefined : book.at(path);
  const run = entry?.run ?? [...book.live].find(({ parent }) => parent === undefined);
  if (run !== undefined) journal.delta(run.who, { type: "budget-near", limit });
}
