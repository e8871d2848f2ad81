/** The memory store: the contract of every store, and what is its own. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError } from "../../../../src/core/errors.ts";
import type { StoredEvent } from "../../../../src/core/event.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { placingContract } from "../../../../src/testing/placing-contract.ts";
import { sampleTree } from "../../../../src/testing/sample-tree.ts";
import { storeContract } from "../../../../src/testing/store-contract.ts";
import { EVERY_EVENT } from "../../../support/core/every-event.ts";
import { checkBadQueries } from "../../../support/storage/store/bad-queries.ts";

storeContract(test, async () => openMemoryStore());

placingContract(test, async () => {
  const store = openMemoryStore();
  return { store, other: store };
});

test("a query that cannot be answered is refused, and a time that is no time deletes nothing", () =>
  checkBadQueries(openMemoryStore()));

test("the memory store keeps at once, and gives back what it was given", async () => {
  const store = openMemoryStore();
  const tree = sampleTree("lead");
  tree.start("lead");
  tree.turn("lead", "Hello.");
  assert.equal(store.isImmediate, true);
  assert.equal(store.append("lead", tree.events), undefined);
  const kept = await store.read("lead");
  assert.equal(kept.length, 3);
  assert.deepEqual(kept, tree.events);
});

test("every event comes back as it was, also in a run that took years or whose clock was set back", async () => {
  const start = EVERY_EVENT["run-start"];
  const usual = EVERY_EVENT["tool-call-end"];
  const { files: _files, stack: _stack, metadata: _metadata, ...short } = usual;
  const kinds: StoredEvent[] = [...Object.values(EVERY_EVENT).filter(({ type }) => type !== "run-start"), short];
  const times = [0, 1, 0.25, -5, 2 ** 31, 2 ** 40].map((since) => start.time + since);
  const others: Partial<StoredEvent>[] = [
    {},
    { path: "lead/scout" },
    { agentId: "another" },
    { parentId: "above" },
    { depth: 1 },
  ];
  const events: StoredEvent[] = [{ ...start, seq: 1 }];
  for (const kind of kinds)
    for (const time of times)
      for (const other of others) events.push({ ...kind, time, ...other, seq: events.length + 1 } as StoredEvent);
  const store = openMemoryStore();
  store.append(start.runId, events);
  const kept = await store.read(start.runId);
  assert.deepEqual(kept, events);
  assert.deepEqual(kept.map(Object.keys), events.map(Object.keys));
  assert.deepEqual(await store.read(start.runId, { runId: start.runId, after: 3, limit: 9 }), events.slice(3, 12));
});

test("events that were read do not change when more is kept, nor the other way round", async () => {
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
