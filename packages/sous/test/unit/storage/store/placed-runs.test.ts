/** A tree over several journals is checked, exported, imported and read like one of a single journal. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { readHistory, readMessages } from "../../../../src/core/read-history.ts";
import { readWholeTree } from "../../../../src/core/read-tree.ts";
import type { Store } from "../../../../src/core/store.ts";
import { exportTree } from "../../../../src/storage/store/export/tree.ts";
import { importTree } from "../../../../src/storage/store/import/tree.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { checkHistory } from "../../../../src/testing/checker.ts";
import { plain, sampleTree } from "../../../../src/testing/sample-tree.ts";
import { cutTree, type JournalStore, storeOfJournals, uncut } from "../../../support/core/cut-tree.ts";
import { CUT_TRIES, childrenIn, cuts, GOLDEN_TREES } from "../../../support/core/golden-trees.ts";

suite("a tree over several journals", () => {
  for (const tree of GOLDEN_TREES) {
    const { name, rootId, events } = tree;
    const runIds = [rootId, ...childrenIn(events)];
    const problems = checkHistory(events).map((problem) => problem.replace(/^\d+ /, ""));

    test(`${name} is the same in any journals: its problems, its runs, and its messages`, async () => {
      const whole = storeOfJournals(new Map([[rootId, events]]));
      await fc.assert(
        fc.asyncProperty(cuts(tree), async (journals) => {
          const store = storeOfJournals(journals);
          const joined = await readWholeTree(store, rootId);
          assert.deepEqual(
            checkHistory(joined).map((problem) => problem.replace(/^\d+ /, "")),
            problems,
          );
          for (const runId of runIds) {
            assert.deepEqual(typesOf(uncut(joined), runId), typesOf(events, runId));
            assert.deepEqual(await messagesOf(store, runId), await messagesOf(whole, runId));
          }
        }),
        CUT_TRIES,
      );
    });

    test(`${name} in any journals is exported and imported as one journal that looks for no other`, async () => {
      await fc.assert(
        fc.asyncProperty(cuts(tree), async (journals) => {
          const store = storeOfJournals(journals) as unknown as Store;
          const exported = await exportTree(store, rootId, "json");
          await using imported = openMemoryStore();
          assert.equal((await importTree(imported, exported)).rootId, rootId);
          assert.deepEqual(plain(await imported.read(rootId)), plain(await readWholeTree(store, rootId)));
          const asked: string[] = [];
          const read: Store["read"] = (id, options) => {
            asked.push(id);
            return imported.read(id, options);
          };
          await readWholeTree({ read }, rootId);
          assert.deepEqual(asked, [rootId]);
          assert.equal(await exportTree(imported, rootId, "json"), exported);
          for (const format of ["html", "md"] as const)
            assert.ok((await exportTree(store, rootId, format)).length > 1000);
          const copy = await importTree(imported, exported, { newIds: true });
          const ids = new Set((await readWholeTree(imported, copy.rootId)).flatMap(idsOf));
          assert.deepEqual(
            [...ids].filter((id) => runIds.includes(id)),
            [],
          );
        }),
        CUT_TRIES,
      );
    });
  }

  test("a child that was placed and never begun gets a new id, too, and is looked for in vain", async () => {
    const tree = GOLDEN_TREES.find(({ name }) => name === "required-2.json");
    assert.ok(tree !== undefined);
    const [child = ""] = childrenIn(tree.events);
    const journals = cutTree(tree.events, new Set([child]));
    const begun = journals.get(child) ?? [];
    journals.delete(child);
    const exported = await exportTree(storeOfJournals(journals) as unknown as Store, tree.rootId, "json");
    await using store = openMemoryStore();
    // The child has begun since, in the tree that was exported.
    for (const [journalId, events] of journals) store.append(journalId, events);
    store.append(child, begun);
    const { rootId } = await importTree(store, exported, { newIds: true });
    const copied = await readWholeTree(store, rootId);
    assert.equal(
      copied.some(({ type, path }) => type === "run-start" && path === "lead/mason"),
      false,
    );
    assert.equal(JSON.stringify(copied).includes(child), false);
  });

  test("runs that continue one another in different journals are read once", async () => {
    const one = sampleTree("one");
    one.start("one", { details: { origin: { kind: "follow-up", runId: "two" } } });
    const two = sampleTree("two");
    const origin = { kind: "follow-up", runId: "one" } as const;
    two.start("two", { details: { origin, placed: { rootId: "one", budgets: [] } } });
    const store = storeOfJournals(
      new Map([
        ["one", one.events],
        ["two", two.events],
      ]),
    );
    assert.deepEqual((await messagesOf(store, "one"))?.length, 3);
    assert.deepEqual((await messagesOf(store, "two"))?.length, 3);
    assert.ok(store.asked.length < 20);
  });

  test("a run of another tree is not read, whatever a run says that it continues", async () => {
    const mine = sampleTree("mine");
    mine.start("mine", { details: { origin: { kind: "follow-up", runId: "other" } } });
    const other = sampleTree("other");
    other.start("other");
    const store = storeOfJournals(
      new Map([
        ["mine", mine.events],
        ["other", other.events],
      ]),
    );
    assert.deepEqual((await messagesOf(store, "mine"))?.length, 1);
  });

  test("the text of a run in another journal is found, and nothing without a store that knows it", async () => {
    const tree = sampleTree("lead");
    tree.start("lead");
    tree.start("scout", { parent: "lead" });
    tree.end("scout", { text: "Seen." });
    const store = storeOfJournals(cutTree(tree.events, new Set(["scout"])));
    assert.equal(await readHistory(store, "lead").endText("scout"), "Seen.");
    assert.equal(await readHistory({ read: store.read }, "lead").endText("scout"), undefined);
  });
});

function messagesOf(store: JournalStore, runId: string) {
  return readMessages(store as unknown as Store, runId);
}

function typesOf(events: readonly StoredEvent[], runId: string): string[] {
  return events.flatMap((event) => (event.runId === runId && !isMailed(event) ? [event.type] : []));
}

/** The stop of its parent, which reaches a placed run by mail. */
function isMailed(event: StoredEvent): boolean {
  return event.type === "cancel" && event.mail !== undefined;
}

function idsOf(event: StoredEvent): string[] {
  return [event.runId, event.agentId, event.parentId ?? "", event.type === "placed" ? event.childRunId : ""];
}
