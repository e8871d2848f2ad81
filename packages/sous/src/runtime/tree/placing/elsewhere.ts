/** The agents of a tree that worked elsewhere, for the result of its root: from the records of the store. */

import type { RunRecord } from "../../../core/store.ts";
import { isUnended } from "../../../core/words/outcomes.ts";
import type { TreeState } from "../state.ts";

/** Adds those that the book does not know: they were made below a placed child. Parents come before children. */
export function addElsewhere({ book, parts }: TreeState, records: readonly RunRecord[]): void {
  const agents = new Map(records.map(({ id, agentId }) => [id, agentId]));
  const known = new Set(records.filter(({ agentId }) => book.get(agentId) !== undefined).map(({ agentId }) => agentId));
  for (const record of records) {
    const { agentId, parentId, path, label, depth, agent: agentName, status } = record;
    if (known.has(agentId)) continue;
    const parent = book.get(agents.get(parentId ?? "") ?? "");
    if (parent === undefined) continue;
    const own = { agentId, parent, path, label, depth, agentName, external: undefined };
    const account = parts.spending.children;
    const entry = book.get(agentId) ?? book.restore({ ...own, account, budget: undefined, isBackground: false });
    const { stopReason, turns, toolCount, usage, costUsd, durationMs = 0 } = record;
    const ended = { text: "", fault: undefined, turns, toolCount, usage, costUsd, durationMs };
    if (!isUnended(status)) book.count(entry, { ...ended, status, stopReason: stopReason as never });
  }
}
