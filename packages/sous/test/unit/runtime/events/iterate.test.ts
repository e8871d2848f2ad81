/** The iterator: everything stored arrives once and in order, however slow the reader. */

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { StoreError } from "../../../../src/core/errors.ts";
import type { SousEvent, StoredEvent } from "../../../../src/core/event.ts";
import type { Journal } from "../../../../src/core/tree-ports.ts";
import { noUsage } from "../../../../src/core/usage.ts";
import { iterateEvents, iterateSince } from "../../../../src/runtime/events/iterate.ts";
import { openMemoryStore } from "../../../../src/storage/store/memory.ts";
import { wrapStore } from "../../../support/testing/faults.ts";
import { journalOn, LEAD, nameOf, passTime, SCOUT, steer, textDelta, ticks, WritesInHand } from "./journal-fixtures.ts";

const SMALL = { events: 8, characters: 1_000 };

function endRun(journal: Journal, who = LEAD): void {
  journal.append(who, {
    type: "run-end",
    status: "completed",
    stopReason: undefined,
    text: `${who.runId} is done`,
    fault: undefined,
    turns: 1,
    toolCount: 0,
    usage: noUsage(),
    costUsd: null,
    durationMs: 1,
  });
}

async function readAll(events: AsyncIterable<SousEvent>): Promise<string[]> {
  const names: string[] = [];
  for await (const event of events) names.push(nameOf(event));
  return names;
}

function numbered(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => `${from + index}:${from + index}`);
}

suite("iterating a tree", () => {
  test("an iteration of a tree gives every event and delta from its creation to the end of the root, to each of several readers", async () => {
    const store = openMemoryStore();
    const { journal } = journalOn(store);
    journal.append(LEAD, steer("before"));
    const early = iterateEvents({ journal, store, rootId: "lead" });
    const waiting = readAll(iterateEvents({ journal, store, rootId: "lead" }));
    journal.append(LEAD, steer("a"));
    journal.delta(LEAD, textDelta("b"));
    endRun(journal, SCOUT);
    await ticks();
    journal.append(LEAD, steer("c"));
    endRun(journal);
    const expected = ["2:a", "b", "3:scout is done", "4:c", "5:lead is done"];
    assert.deepEqual(await waiting, expected);
    assert.deepEqual(await readAll(early), expected);
    assert.deepEqual(await early.next(), { value: undefined, done: true });
  });

  test("an iteration of a tree can end with the end of another run than the root", async () => {
    const store = openMemoryStore();
    const { journal } = journalOn(store);
    const events = iterateEvents({ journal, store, rootId: "lead", runId: "scout" });
    endRun(journal);
    endRun(journal, SCOUT);
    journal.append(LEAD, steer("later"));
    assert.deepEqual(await readAll(events), ["1:lead is done", "2:scout is done"]);
  });

  test("an iteration of a tree answers several readers that wait at once in their order, the last ones with the end", async () => {
    const store = openMemoryStore();
    const { journal } = journalOn(store);
    const events = iterateEvents({ journal, store, rootId: "lead" });
    const results = [events.next(), events.next(), events.next()];
    journal.append(LEAD, steer("a"));
    endRun(journal);
    const values = (await Promise.all(results)).map(({ value }) => value && nameOf(value));
    assert.deepEqual(values, ["1:a", "2:lead is done", undefined]);
  });

  test("an iteration of a tree stops listening when the reader leaves", async () => {
    const store = openMemoryStore();
    const { journal, listening } = journalOn(store);
    listening[Symbol.dispose]();
    const left = iterateEvents({ journal, store, rootId: "lead" });
    journal.append(LEAD, steer("a"));
    for await (const event of left) {
      assert.equal(nameOf(event), "1:a");
      break;
    }
    assert.equal(journal.isWatched, false);
    assert.deepEqual(await left.next(), { value: undefined, done: true });

    const waiting = iterateEvents({ journal, store, rootId: "lead" });
    const result = waiting.next();
    await waiting.return?.();
    assert.deepEqual(await result, { value: undefined, done: true });
    assert.equal(journal.isWatched, false);
  });
});

suite("a reader that begins late", () => {
  test("a reader that begins late gets every stored event since then, however many, and what is live behind them", async () => {
    const store = openMemoryStore();
    const { journal } = journalOn(store);
    for (let number = 1; number <= 200; number++) {
      journal.append(LEAD, steer(String(number)));
      journal.delta(LEAD, textDelta("missed"));
    }
    const events = iterateSince(10, { journal, store, rootId: "lead" });
    journal.delta(LEAD, textDelta("live"));
    endRun(journal);
    journal.append(LEAD, steer("later"));
    assert.deepEqual(await readAll(events), [...numbered(11, 200), "live", "201:lead is done"]);
  });

  test("a reader that begins late stops listening when it leaves, also while it waits for a live event", async () => {
    const store = openMemoryStore();
    const { journal, listening } = journalOn(store);
    listening[Symbol.dispose]();
    journal.append(LEAD, steer("1"));
    const events = iterateSince(0, { journal, store, rootId: "lead" });
    assert.equal((await events.next()).done, false);
    const waiting = events.next();
    await ticks();
    await events.return?.();
    assert.deepEqual([await waiting, journal.isWatched], [{ value: undefined, done: true }, false]);
  });

  test("a reader that begins late stops listening when the end is among what it reads again", async () => {
    const store = openMemoryStore();
    const { journal, listening } = journalOn(store);
    listening[Symbol.dispose]();
    journal.append(LEAD, steer("1"));
    endRun(journal, SCOUT);
    journal.append(LEAD, steer("3"));
    const events = iterateSince(0, { journal, store, rootId: "lead", runId: "scout" });
    assert.deepEqual([await readAll(events), journal.isWatched], [["1:1", "2:scout is done"], false]);
  });

  test("a reader that begins late is told when the store cannot give back what it kept", async () => {
    const { journal } = journalOn(openMemoryStore());
    journal.append(LEAD, steer("1"));
    const events = iterateSince(0, { journal, store: { read: async () => [] }, rootId: "lead" });
    await assert.rejects(readAll(events), new StoreError("The store lost the events of tree lead after 0"));
  });
});

suite("a slow reader", () => {
  test("a slow reader loses deltas and nothing else, and gets deltas again once it has caught up", async () => {
    const store = openMemoryStore();
    const { journal } = journalOn(store);
    const events = iterateEvents({ journal, store, rootId: "lead", limits: SMALL });
    for (let number = 1; number <= 300; number++) {
      journal.append(LEAD, steer(String(number)));
      journal.delta(LEAD, textDelta(`after ${number}`));
    }
    const names: string[] = [];
    while (names.at(-1) !== "300:300") names.push(nameOf((await events.next()).value ?? assert.fail()));
    assert.deepEqual(
      names.filter((name) => name.includes(":")),
      numbered(1, 300),
    );
    const deltas = names.filter((name) => !name.includes(":"));
    assert.ok(deltas.length <= SMALL.events, `${deltas.length} deltas were held`);
    journal.delta(LEAD, textDelta("live again"));
    endRun(journal);
    assert.deepEqual(await readAll(events), ["live again", "301:lead is done"]);
  });

  test("a slow reader holds no more than its limit, whatever comes", async () => {
    const held: number[] = [];
    const store = openMemoryStore();
    const { journal } = journalOn(store);
    const reads: number[] = [];
    const counted = {
      read: async (...given: Parameters<typeof store.read>) => {
        const found = await store.read(...given);
        reads.push(found.length);
        return found;
      },
    };
    const events = iterateEvents({ journal, store: counted, rootId: "lead", limits: SMALL });
    for (let number = 1; number <= 200; number++) journal.append(LEAD, steer(String(number)));
    endRun(journal);
    for (let result = await events.next(); !result.done; result = await events.next()) held.push(result.value.seq ?? 0);
    assert.deepEqual(
      held,
      Array.from({ length: 201 }, (_, index) => index + 1),
    );
    // What did not fit came from the store, a bounded number at a time.
    assert.deepEqual([reads.reduce((sum, count) => sum + count), Math.max(...reads)], [201 - (SMALL.events + 1), 64]);
  });

  test("a slow reader is measured by the length of texts too", async () => {
    const store = openMemoryStore();
    const { journal } = journalOn(store);
    const events = iterateEvents({ journal, store, rootId: "lead", limits: SMALL });
    journal.delta(LEAD, textDelta("x".repeat(600)));
    journal.delta(LEAD, textDelta("y".repeat(600)));
    journal.delta(LEAD, textDelta("z"));
    endRun(journal);
    assert.deepEqual(await readAll(events), ["z", "1:lead is done"]);
  });

  test("a slow reader that has read what was there has all the room again", async () => {
    const store = openMemoryStore();
    const { journal } = journalOn(store);
    const events = iterateEvents({ journal, store, rootId: "lead", limits: SMALL });
    for (let count = 1; count <= 5; count++) {
      journal.delta(LEAD, textDelta("x".repeat(600)));
      assert.equal((await events.next()).value?.type, "text-delta");
    }
  });

  test("a slow reader that asks for several events at once gets each of them once, and the store is read once", async () => {
    const store = openMemoryStore();
    const { journal } = journalOn(store);
    let reads = 0;
    const counted = wrapStore(store, {
      read: (...given) => {
        reads += 1;
        return store.read(...given);
      },
    });
    const events = iterateEvents({ journal, store: counted, rootId: "lead", limits: SMALL });
    for (let number = 1; number <= 20; number++) journal.append(LEAD, steer(String(number)));
    const results = await Promise.all(Array.from({ length: 20 }, () => events.next()));
    assert.deepEqual(
      results.map(({ value }) => value && nameOf(value)),
      numbered(1, 20),
    );
    assert.equal(reads, 1);
    endRun(journal);
    assert.deepEqual(await readAll(events), ["21:lead is done"]);
  });

  test("a slow reader gets nothing behind the end of the root, though the store has more", async () => {
    const store = openMemoryStore();
    const { journal } = journalOn(store);
    const events = iterateEvents({ journal, store, rootId: "lead", limits: SMALL });
    for (let number = 1; number <= SMALL.events + 1; number++) journal.append(LEAD, steer(String(number)));
    endRun(journal);
    journal.append(LEAD, steer("later"));
    assert.deepEqual(await readAll(events), [...numbered(1, SMALL.events + 1), "10:lead is done"]);
    assert.deepEqual(await events.next(), { value: undefined, done: true });
  });

  test("a slow reader sees once what the store had before it was shown", async () => {
    const kept = openMemoryStore();
    const slow = new WritesInHand(false, "later");
    // Keeps at once but says so later, as a store behind a network does.
    const store = {
      isImmediate: false,
      append(rootId: string, events: readonly StoredEvent[]) {
        kept.append(rootId, events);
        return slow.append(rootId, events);
      },
    };
    const { journal, runScheduled } = journalOn(store);
    const events = iterateEvents({ journal, store: kept, rootId: "lead", limits: { events: 2, characters: 1_000 } });
    for (let number = 1; number <= 5; number++) journal.append(LEAD, steer(String(number)));
    runScheduled();
    await slow.finishWrite();
    journal.append(LEAD, steer("6"));
    runScheduled();
    const names: string[] = [];
    for (let count = 0; count < 6; count++) names.push(nameOf((await events.next()).value ?? assert.fail()));
    await slow.finishWrite();
    endRun(journal);
    runScheduled();
    await slow.finishWrite();
    assert.deepEqual([...names, ...(await readAll(events))], [...numbered(1, 6), "7:lead is done"]);
  });

  test("a slow reader gets what a degraded tree did not keep, behind what it kept", async () => {
    const kept = openMemoryStore();
    let isBroken = false;
    const store = {
      isImmediate: true,
      append(rootId: string, events: readonly StoredEvent[]) {
        if (isBroken) throw new Error("disk full");
        kept.append(rootId, events);
      },
    };
    const { journal, clock } = journalOn(store);
    const events = iterateEvents({ journal, store: kept, rootId: "lead", limits: SMALL });
    for (let number = 1; number <= 20; number++) journal.append(LEAD, steer(String(number)));
    isBroken = true;
    for (let number = 21; number <= 60; number++) journal.append(LEAD, steer(String(number)));
    await passTime(clock);
    assert.notEqual(journal.degraded, undefined);
    endRun(journal);
    assert.deepEqual(await readAll(events), [...numbered(1, 60), "61:lead is done"]);
  });

  test("a slow reader is told when the store cannot give back what it kept", async () => {
    const { journal, listening } = journalOn(openMemoryStore());
    listening[Symbol.dispose]();
    const forgetful = { read: async () => [] };
    const events = iterateEvents({ journal, store: forgetful, rootId: "lead", limits: SMALL });
    for (let number = 1; number <= 20; number++) journal.append(LEAD, steer(String(number)));
    await assert.rejects(readAll(events), new StoreError("The store lost the events of tree lead after 9"));
    assert.equal(journal.isWatched, false);
    assert.deepEqual(await events.next(), { value: undefined, done: true });
  });
});
