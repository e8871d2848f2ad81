/** A tree that workers ran is played like one of a single process: where a run was at work is never a difference. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { readWholeTree } from "../../../src/core/read-tree.ts";
import type { Store } from "../../../src/core/store.ts";
import { diffRuns } from "../../../src/replay.ts";
import { rerun } from "../../../src/rerun.ts";
import { exportTree } from "../../../src/storage/store/export/tree.ts";
import { importTree } from "../../../src/storage/store/import/tree.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { storeOfJournals } from "../../support/core/cut-tree.ts";
import { CUT_TRIES, cuts, GOLDEN_TREES } from "../../support/core/golden-trees.ts";

suite("a tree that workers ran", () => {
  for (const tree of GOLDEN_TREES) {
    const { name, rootId, events } = tree;
    test(`G5: ${name} gives the same when any of its runs had journals of their own`, async () => {
      const whole = storeOfJournals(new Map([[rootId, events]]));
      const alone = await played(whole, rootId);
      await fc.assert(
        fc.asyncProperty(cuts(tree), async (journals) => {
          const store = storeOfJournals(journals);
          assert.deepEqual(await played(store, rootId), alone);
          // An imported tree is one journal.
          const imported = storeOfJournals(new Map([[rootId, await readWholeTree(store, rootId)]]));
          assert.deepEqual(await played(imported, rootId), alone);
        }),
        CUT_TRIES,
      );
    });

    test(`G5: ${name} in journals and in one has no difference`, async () => {
      const memory = openMemoryStore();
      memory.append(rootId, events);
      const other = openMemoryStore();
      const copy = await importTree(other, await exportTree(memory, rootId, "json"), { newIds: true });
      await fc.assert(
        fc.asyncProperty(cuts(tree), async (journals) => {
          const cut = storeOfJournals(journals);
          const store: Pick<Store, "read" | "run"> = {
            run: async (runId) => (await cut.run(runId)) ?? other.run(runId),
            read: (id, options) => (journals.has(id) ? cut : other).read(id, options),
          };
          const { isSame, agents } = await diffRuns(store, rootId, copy.rootId);
          const changed = agents.filter(({ mark }) => mark !== "same").map(({ path, mark }) => [path, mark]);
          assert.deepEqual([isSame, changed], [true, []]);
        }),
        CUT_TRIES,
      );
    });
  }
});

async function played(store: Pick<Store, "read" | "run">, rootId: string) {
  const { matches, firstDifference, endsEarly, events } = await rerun(rootId, { store });
  // How often a run was silent is a matter of time.
  const steps = events.filter(({ type }) => type !== "stalled").length;
  return { matches, difference: firstDifference?.sentence, endsEarly, steps };
}
