/** The work of a tree in other processes, for the result of its root: from the records and journals of the store. */

import type { RunResult } from "../../../core/runtime.ts";
import { DamageError, type RunRecord, type Store } from "../../../core/store.ts";
import { isUnended, lacksApproval } from "../../../core/words/outcomes.ts";
import { EarlierTree } from "../restore/earlier-tree.ts";
import type { TreeState } from "../state.ts";

/** Adds to the book what the agents of these records used that it has not counted. Parents come before children. */
export function addElsewhere(
  { book, parts }: Pick<TreeState, "book" | "parts">,
  records: readonly RunRecord[],
  isUncounted: (record: RunRecord) => boolean,
): void {
  const agents = new Map(records.map(({ id, agentId }) => [id, agentId]));
  for (const record of records.filter(isUncounted)) {
    const { agentId, parentId, path, label, depth, agent: agentName, status } = record;
    const parent = book.get(agents.get(parentId ?? "") ?? "");
    const own = { agentId, parent, path, label, depth, agentName, external: undefined };
    const account = parts.spending.children;
    const entry = book.get(agentId) ?? book.restore({ ...own, account, budget: undefined, isBackground: false });
    const { stopReason, turns, toolCount, usage, costUsd, durationMs = 0 } = record;
    const ended = { text: "", fault: undefined, turns, toolCount, usage, costUsd, durationMs };
    if (!isUnended(status)) book.count(entry, { ...ended, status, stopReason: stopReason as never });
  }
}

/** Calls in the journals of these records that needed a person when there was none. */
export async function deniedIn(
  store: Pick<Store, "read">,
  records: readonly RunRecord[],
): Promise<RunResult["denied"]> {
  const journals = new Set(records.filter(lacksApproval).map(({ journalId }) => journalId));
  const denied: RunResult["denied"] = [];
  for (const journalId of journals) {
    try {
      denied.push(...(await EarlierTree.read(store, journalId)).denied);
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
    }
  }
  return denied;
}

/** The records of what this run started, at any depth. Parents come before children. */
export function recordsBelow(records: readonly RunRecord[], runId: string): RunRecord[] {
  const ids = new Set([runId]);
  return records.filter(({ id, parentId }) => parentId !== null && ids.has(parentId) && ids.add(id));
}
