/** The memory store: the contract of every store, and what is its own. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError } from "../../src/core/errors.ts";
import { openMemoryStore } from "../../src/store/memory.ts";
import { sampleTree } from "../../src/testing/sample-tree.ts";
import { storeContract } from "../../src/testing/store-contract.ts";

storeContract(test, async () => openMemoryStore());

test("the memory store keeps at once, and keeps the events themselves, not copies", async () => {
  const store = openMemoryStore();
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.turn("lead", "Hello.");
  assert.equal(store.isImmediate, true);
  assert.equal(store.append("lead", tree.events), undefined);
  const kept = await store.read("lead");
  assert.equal(kept.length, 3);
  for (const [index, event] of kept.entries()) assert.equal(event, tree.events[index]);
});

test("what was read does not change when more is kept, nor the other way round", async () => {
  const store = openMemoryStore();
  const tree = sampleTree("lead");
  tree.start("lead");
  store.append("lead", tree.events);
  const [read, record] = [await store.read("lead"), await store.run("lead")];
  tree.turn("lead", "Hello.", { inputTokens: 3 });
  store.append("lead", tree.events.slice(1));
  assert.deepEqual([read.length, record?.turns, record?.usage.inputTokens], [1, 0, 0]);
  assert.equal((await store.run("lead"))?.usage.inputTokens, 3);
});

test("listed runs are the same records as those of their tree", async () => {
  const store = openMemoryStore();
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.start("scout", { parent: "lead" });
  tree.turn("lead", "I wait.", { inputTokens: 5 });
  tree.turn("scout", "I look.", { inputTokens: 7 });
  tree.end("scout");
  tree.start("writer", { parent: "lead" });
  tree.turn("lead", "I go on.", { inputTokens: 11 });
  store.append("lead", tree.events);
  const records = await store.tree("lead");
  assert.deepEqual(
    records.map(({ id, usage }) => [id, usage.inputTokens]),
    [
      ["lead", 16],
      ["scout", 0],
      ["writer", 0],
    ],
  );
  assert.deepEqual(await store.list(), records.toReversed());
});

test("a second journal of the same tree is refused, whatever it would write", () => {
  const store = openMemoryStore();
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.turn("lead", "Hello.");
  store.append("lead", tree.events);
  for (const event of tree.events) {
    assert.throws(
      () => store.append("lead", [event]),
      new StoreError(`Tree lead already has event ${event.seq}; its last is 3`),
    );
  }
});
