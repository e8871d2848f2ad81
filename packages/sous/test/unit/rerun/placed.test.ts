/** A tree that workers ran is played like one of a single process: where a run was at work is never a difference. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { readWholeTree } from "../../../src/core/read-tree.ts";
import type { Store } from "../../../src/core/store.ts";
import { diffRuns } from "../../../src/replay.ts";
import { rerun } from "../../../src/rerun.ts";
import { inPlayedOrder } from "../../../src/storage/replay/played-order.ts";
import { exportTree } from "../../../src/storage/store/export/tree.ts";
import { importTree } from "../../../src/storage/store/import/tree.ts";
import { openMemoryStore } from "../../../src/storage/store/memory.ts";
import { sampleTree } from "../../../src/testing/sample-tree.ts";
import { between, seededRandom } from "../../../src/testing/world.ts";
import { recordTree } from "../../figures/r13-tree.ts";
import { cutTree, storeOfJournals } from "../../support/core/cut-tree.ts";
import { CUT_TRIES, childrenIn, cuts, GOLDEN_TREES } from "../../support/core/golden-trees.ts";

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

  // Hundreds of runs side by side, with steers, stops, failures, deadlines and reports, many of them in one millisecond.
  for (const seed of [2, 4, 5, 7]) {
    test(`G5: the random tree of seed ${seed} gives the same in journals`, async () => {
      const events = await recordTree(seed, 300);
      const rootId = events[0]?.runId ?? "";
      const random = seededRandom(seed, "cut");
      for (const share of [1, 0.5, 0.2]) {
        const placed = new Set(childrenIn(events).filter(() => random() < share));
        const clocks = new Map([...placed].map((runId) => [runId, between(random, -5000, 5000)]));
        const clockOf = (journalId: string) => clocks.get(journalId) ?? 0;
        const store = storeOfJournals(cutTree(events, placed, { clockOf, mailsStops: share === 0.5 }));
        assert.equal((await played(store, rootId)).difference, undefined);
      }
    });
  }

  test("10,000 placed runs are put in order in a moment", async () => {
    const tree = sampleTree("lead");
    tree.start("lead");
    const runIds = Array.from({ length: 10_000 }, (_, index) => `run-${index}`);
    for (const runId of runIds) tree.start(runId, { parent: "lead", details: { call: { callId: "c1", index: 0 } } });
    for (const runId of runIds) tree.turn(runId, "Here.");
    for (const runId of runIds) tree.end(runId);
    tree.end("lead");
    const joined = await readWholeTree(storeOfJournals(cutTree(tree.events, new Set(runIds))), "lead");
    const order = inPlayedOrder(joined);
    assert.equal(order.length, joined.length);
    const [first = "", last = ""] = [runIds[0], runIds.at(-1)];
    const at = (runId: string, type: string) =>
      order.findIndex((event) => event.runId === runId && event.type === type);
    // They were at work side by side.
    assert.ok(at(last, "turn-start") < at(first, "run-end"));
  });
});

async function played(store: Pick<Store, "read" | "run">, rootId: string) {
  const { matches, firstDifference, endsEarly, events } = await rerun(rootId, { store });
  // How often a run was silent is a matter of time.
  const steps = events.filter(({ type }) => type !== "stalled").length;
  return { matches, difference: firstDifference?.sentence, endsEarly, steps };
}
