/** The promise of every store that can share budgets: the rows of a tree end with the tree. */

import assert from "node:assert/strict";
import { budgetRowsOf, type SharedBudgets } from "../../../../../src/core/shared-budget.ts";
import type { Store } from "../../../../../src/core/store.ts";
import { sampleTree } from "../../../../../src/testing/sample-tree.ts";

const NOTHING = { tokens: 0, nanoUsd: 0, executions: 0 };

export async function deletesBudgetsOfTrees(store: Store & SharedBudgets): Promise<void> {
  const rows = budgetRowsOf(store);
  assert.ok(rows !== undefined);
  const limits = { tokens: 9, nanoUsd: undefined, executions: undefined };
  const trees = ["lead", "later"];
  for (const [index, rootId] of trees.entries()) {
    const tree = sampleTree(rootId, 1_000 + index);
    tree.start(rootId);
    tree.end(rootId);
    await store.append(rootId, tree.events);
    for (const name of [rootId, `${rootId}/scout`, `${rootId}/scout#2/\ud800`])
      await rows.make({ name, limits, spent: NOTHING, replaces: false });
  }
  for (const name of ["leader", "lead0", "team"]) await store.sharedBudget(name, { tokens: 9 });
  const line = { name: "lead/scout", unit: "tokens", spent: 0, inFlight: 5, kept: 0 } as const;
  const step = { number: 1, lapses: 0, made: [], gives: [], asks: [line], names: ["lead/scout"], waits: [] };
  await rows.step(step);
  const there = async () => {
    const names = [...trees, ...trees.map((id) => `${id}/scout`), "lead/scout#2/\ud800", "leader", "lead0", "team"];
    const found = await Promise.all(names.map(async (name) => ((await rows.look(name)).length > 0 ? [name] : [])));
    return found.flat();
  };
  assert.equal(await store.delete("lead"), true);
  assert.deepEqual(await there(), ["later", "later/scout", "leader", "lead0", "team"]);
  assert.equal(await store.prune(Number.MAX_SAFE_INTEGER), 1);
  assert.deepEqual(await there(), ["leader", "lead0", "team"]);
  // What its process held of the row that is gone is given back to none.
  assert.equal((await rows.step({ ...step, number: 2, asks: [], gives: [{ ...line, inFlight: -5 }] })).isTaken, true);
}
